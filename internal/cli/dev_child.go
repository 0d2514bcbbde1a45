package cli

// This file starts the program of stepwell dev as a group of processes, and stops all of them.

import (
	"fmt"
	"os/exec"
	"time"
)

// devChild is the program while it runs, and what it has started.
type devChild struct {
	cmd   *exec.Cmd
	ended chan struct{} // closed when it has
}

// devPipes is how long what a program started may go on writing when it has ended itself.
const devPipes = time.Second

func startDev(d *dev, path, build string) (*devChild, error) {
	p := d.program
	cmd := exec.Command(path, p.args...) // it is told to end before it is killed: see stop
	cmd.Dir, cmd.Env, cmd.WaitDelay = p.in, d.environment(build), devPipes
	out, errs := d.out.lines("app", busy, d.c.stdout), d.out.lines("app", busy, d.c.stderr)
	cmd.Stdout, cmd.Stderr = out, errs
	apart(cmd)
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", path, err)
	}
	c := &devChild{cmd: cmd, ended: make(chan struct{})}
	go func() {
		_ = cmd.Wait() // its state says how it ended
		out.flush()
		errs.flush()
		close(c.ended)
	}()
	return c, nil
}

// stop interrupts the group, and kills it when that takes too long. It reports whether the program ended by itself.
func (c *devChild) stop(grace time.Duration) bool {
	select {
	case <-c.ended:
		killGroup(c.cmd.Process)
		return true
	default:
	}
	interruptGroup(c.cmd.Process)
	t := time.NewTimer(grace)
	defer t.Stop()
	select {
	case <-c.ended:
		killGroup(c.cmd.Process) // what it left
		return true
	case <-t.C:
		killGroup(c.cmd.Process)
		<-c.ended
		return false
	}
}
