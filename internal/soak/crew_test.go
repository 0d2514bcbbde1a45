//go:build unix

package soak

// This file starts, kills, stops and ends worker processes.

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"
)

// crew is the worker processes. It is safe for concurrent use.
type crew struct {
	t       testing.TB
	dir     string
	url     func(name string) string
	told    orders // what all of them are told, beside their names and URLs
	front   string // where the first listens, a server that the others work through; "": there is none
	mu      sync.Mutex
	members []*member         // the ones at work, a place each
	deaths  map[int]time.Time // by process
	names   map[int]string    // of all there were, by process
	created int
	pauses  sync.WaitGroup
}

// member is one process.
type member struct {
	name  string
	cmd   *exec.Cmd
	stdin io.Closer
	logs  string
	ended chan struct{} // closed when the process is gone
	err   error         // how; after ended
}

func newCrew(t testing.TB, dir string, size int, url func(name string) string) *crew {
	c := &crew{t: t, dir: dir, url: url, members: make([]*member, size), deaths: map[int]time.Time{}, names: map[int]string{}}
	c.told = orders{Dir: dir, Lease: lease, Poll: time.Second}
	t.Cleanup(func() { // of what is left when the test fails halfway
		c.pauses.Wait()
		for _, m := range c.members {
			if m != nil {
				_ = m.cmd.Process.Kill()
				<-m.ended
			}
		}
	})
	return c
}

// hire puts a new process in a place that is empty.
func (c *crew) hire(place int) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.created++
	m := &member{name: fmt.Sprintf("worker-%d-%d", place, c.created), ended: make(chan struct{})}
	o := c.told
	o.Name, o.URL = m.name, c.url(m.name)
	switch {
	case c.front != "" && place == 0:
		o.Serve = c.front
	case c.front != "":
		o.URL = "http://" + c.front
	}
	text, err := json.Marshal(o)
	if err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	m.logs = filepath.Join(c.dir, m.name+".log")
	out, err := os.Create(m.logs)
	if err != nil {
		return err
	}
	defer out.Close()
	m.cmd = exec.Command(self)
	m.cmd.Env = append(os.Environ(), workerEnv+"="+string(text), "GORACE=halt_on_error=1 exitcode=66")
	m.cmd.Stdout, m.cmd.Stderr = out, out
	if m.stdin, err = m.cmd.StdinPipe(); err != nil {
		return err
	}
	if err := m.cmd.Start(); err != nil {
		return err
	}
	go func() {
		m.err = m.cmd.Wait()
		close(m.ended)
	}()
	c.members[place] = m
	c.names[m.cmd.Process.Pid] = m.name
	return nil
}

// at is who works in a place.
func (c *crew) at(place int) *member {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.members[place]
}

// check reports a process that ended though nobody told it to, and puts another in its place.
func (c *crew) check(place int) error {
	m := c.at(place)
	select {
	case <-m.ended:
		c.bury(m, time.Now())
		return errors.Join(fmt.Errorf("%s ended by itself: %v\n%s", m.name, m.err, m.log()), c.hire(place))
	default:
		return nil
	}
}

// kill ends the process in a place as kill -9 does.
func (c *crew) kill(place int) error {
	if err := c.check(place); err != nil {
		return err
	}
	m := c.at(place)
	c.bury(m, time.Now())
	if err := m.cmd.Process.Kill(); err != nil {
		return err
	}
	<-m.ended
	return nil
}

func (c *crew) bury(m *member, at time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.deaths[m.cmd.Process.Pid] = at
}

// pause stops the process in a place for a while. A process of its own does it, so that nobody stays stopped for ever when this one is
// killed meanwhile.
func (c *crew) pause(place int, d time.Duration) error {
	pid := c.at(place).cmd.Process.Pid
	seconds := strconv.FormatFloat(d.Seconds(), 'f', 3, 64)
	cmd := exec.Command("/bin/sh", "-c", `kill -STOP "$1" && sleep "$2"; kill -CONT "$1" 2>/dev/null`, "pause", strconv.Itoa(pid), seconds)
	if err := cmd.Start(); err != nil {
		return err
	}
	c.pauses.Go(func() { _ = cmd.Wait() }) // the process may be killed meanwhile
	return nil
}

// dismiss lets all end by themselves, which they must do in an orderly way; a server the last.
func (c *crew) dismiss() error {
	c.pauses.Wait()
	places := make([]int, len(c.members))
	for place := range places {
		places[place] = place
	}
	if c.front == "" {
		return c.end(places)
	}
	return errors.Join(c.end(places[1:]), c.end(places[:1]))
}

func (c *crew) end(places []int) (err error) {
	for _, place := range places {
		m := c.at(place)
		err = errors.Join(err, m.stdin.Close())
	}
	for _, place := range places {
		m := c.at(place)
		<-m.ended // within a minute, by itself
		if m.err != nil {
			err = errors.Join(err, fmt.Errorf("%s: %w\n%s", m.name, m.err, m.log()))
		}
	}
	return err
}

func (m *member) log() string {
	b, err := os.ReadFile(m.logs)
	if err != nil {
		return err.Error()
	}
	return string(b[max(0, len(b)-6000):])
}
