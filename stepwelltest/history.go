package stepwelltest

// This file replays the history of a real run against today's code.

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/world"
)

// history is a run's log in a file: a line for each event, as JSON. Before them may stand {"run": ID}; else the file is named for
// its run.
type history struct {
	Run    string `json:"run"`
	events []world.Event
}

// Export writes the history of the run to a file, for [Replay]. The command stepwell events RUN --json > RUN.jsonl does the same to a
// run in production.
func (r *Run[Out]) Export(path string) {
	r.env.t.Helper()
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	err := enc.Encode(history{Run: r.ID()})
	for _, e := range r.Events() {
		err = errors.Join(err, enc.Encode(e))
	}
	if err = errors.Join(err, os.WriteFile(path, b.Bytes(), 0o644)); err != nil {
		r.env.t.Fatalf("export run %s: %v", r.ID(), err)
	}
}

// Replay evaluates today's code against the history of a run, which [Run.Export] or stepwell events RUN --json has written to a
// file; without a first line that names it, the file is named for the run: wrun_01J….jsonl. It fails the test where the code asks
// for something else than the log holds, asks for more, or comes to another end. No body of a step runs.
func Replay(t testing.TB, path string, definitions ...stepwell.Definition) {
	t.Helper()
	ReplayWith(t, path, stepwell.Config{Definitions: definitions})
}

// ReplayWith is [Replay] with a Config of the test's: for registered errors, and limits.
func ReplayWith(t testing.TB, path string, cfg stepwell.Config) {
	t.Helper()
	h, err := read(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := stepwell.New(newSeeded(), cfg); err != nil {
		t.Fatal(err)
	}
	e := newEnv(t, cfg)
	l := e.begin(nil, true)
	defer l.close()
	if err := l.replay(h); err != nil {
		t.Errorf("%s: run %s: %v", path, h.Run, err)
	}
}

func read(path string) (*history, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	h := &history{Run: strings.TrimSuffix(filepath.Base(path), filepath.Ext(path))}
	lines := bufio.NewScanner(bytes.NewReader(b))
	lines.Buffer(nil, 2*world.MaxCommit)
	for n := 1; lines.Scan(); n++ {
		var e world.Event
		line := bytes.TrimSpace(lines.Bytes())
		switch {
		case len(line) == 0:
		case len(h.events) == 0 && json.Unmarshal(line, &e) == nil && e.Type == "":
			err = json.Unmarshal(line, h)
		default:
			if err = json.Unmarshal(line, &e); err == nil && e.Seq != int64(len(h.events)+1) {
				err = fmt.Errorf("event %d, want %d", e.Seq, len(h.events)+1)
			}
			h.events = append(h.events, e)
		}
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", path, n, err)
		}
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if len(h.events) == 0 || h.events[0].Birth == nil {
		return nil, fmt.Errorf("%s: no history: it does not begin with run_created", path)
	}
	return h, nil
}

// replay puts the log into the world, but for its end, and lets the worker go on from there.
func (l *life) replay(h *history) error {
	rest := h.events
	var last *world.Event
	if e := &rest[len(rest)-1]; e.Type.Terminal() {
		last, rest = e, rest[:len(rest)-1]
	}
	var err error
	l.call(func() { err = l.forge(h.Run, rest) })
	if err != nil {
		return fmt.Errorf("the log is not accepted: %w", err)
	}
	var row world.Run
	var more []world.Event
	l.call(func() {
		row, err = l.row(h.Run)
		for e, fault := range l.client.Events(l.ctx, h.Run, stepwell.EventFilter{Cursor: world.Cursor(int64(len(rest)))}) {
			err = errors.Join(err, fault)
			more = append(more, e)
		}
	})
	switch {
	case err != nil:
		return err
	case row.Queue != nil && row.Queue.Blocked != nil:
		return fmt.Errorf("%s: %s", row.Queue.Blocked.Code, row.Queue.Blocked.Message)
	case row.Takes < 2:
		return fmt.Errorf("there is no definition of workflow %s, version %d", row.Workflow, row.Version)
	}
	return compare(last, more)
}

// compare looks at what the code did behind the log.
func compare(last *world.Event, more []world.Event) error {
	names := map[string]string{}
	for i := range more {
		e := &more[i]
		switch {
		case e.Type.Terminal() && last == nil:
			return fmt.Errorf("the code comes to an end, which the log does not: %s %s", e.Type, line(e, names))
		case e.Type.Terminal():
			got, want := string(e.Type)+" "+line(e, names), string(last.Type)+" "+line(last, names)
			if got != want || !bytes.Equal(e.Payload, last.Payload) {
				return fmt.Errorf("the code comes to another end:\n got  %s\n want %s", got, want)
			}
			return nil
		case e.Creation():
			return fmt.Errorf("the code asks for more than the log has: %s %s", e.Type, e.Key(0))
		}
	}
	if last != nil && (last.Type != world.RunCancelled || last.Error != nil) { // a forced cancel is nothing that code comes to
		return fmt.Errorf("the code does not come to an end, which the log does: %s", last.Type)
	}
	return nil
}

// forge writes a log into the world, commit by commit, as if its worker had ended there.
func (l *life) forge(run string, events []world.Event) error {
	id := world.NewID(world.PrefixWorker, world.Now())
	if _, err := l.world.Join(l.ctx, world.Worker{ID: id, Name: "replay", Lease: forever}); err != nil {
		return err
	}
	for at := 0; at < len(events); {
		c := &world.Commit{ID: [16]byte{1, byte(at), byte(at >> 8)}, Run: run, Worker: id, Take: 1, First: int64(at + 1)}
		for first := events[at].Commit; at < len(events) && events[at].Commit == first; at++ {
			e := events[at]
			e.Commit, e.Build = 0, ""
			c.Events = append(c.Events, e)
		}
		if at == len(events) {
			c.Release = &world.Release{WakeAt: world.Now()}
		}
		if _, err := l.world.World.Commit(l.ctx, c); err != nil { // with the seed that the log has
			return err
		}
	}
	return l.world.Leave(context.WithoutCancel(l.ctx), id)
}
