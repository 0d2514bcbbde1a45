package demo

// This file starts, kills and stops the demo's worker process, and waits for things while it lives.

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"
)

// worker is the demo's worker process.
type worker struct {
	cmd    *exec.Cmd
	stdin  io.Closer     // its end tells the process to end
	output *bytes.Buffer // what it says; to be read when it has ended
	ended  chan struct{} // closed when it has
	err    error         // how; to be read when it has ended
}

// startWorker starts this program again, as a worker.
func startWorker(p *play) (*worker, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this program, to start it again: %w", err)
	}
	w := &worker{cmd: exec.Command(self, append(slices.Clone(p.Worker), p.dir)...), output: &bytes.Buffer{}, ended: make(chan struct{})}
	w.cmd.Env = append(os.Environ(), "STEPWELL_DB="+p.Stage.URL) // not an argument: those are seen by all, and it may have a password
	w.cmd.Stdout, w.cmd.Stderr = w.output, w.output
	if w.stdin, err = w.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	if err := w.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the worker process: %w", err)
	}
	go func() {
		w.err = w.cmd.Wait()
		close(w.ended)
	}()
	return w, nil
}

func (w *worker) pid() int { return w.cmd.Process.Pid }

// kill ends the process at once, as kill -9 does, and waits until it is gone. It may have ended, or not have begun.
func (w *worker) kill() {
	if w == nil {
		return
	}
	_ = w.cmd.Process.Kill()
	<-w.ended
}

// stop lets the process end by itself.
func (w *worker) stop() error {
	_ = w.stdin.Close()
	select {
	case <-w.ended:
	case <-time.After(5 * time.Second):
		w.kill()
		return fmt.Errorf("demo: the worker process did not exit when asked to")
	}
	if w.err != nil {
		return w.failure()
	}
	return nil
}

func (w *worker) failure() error {
	return fmt.Errorf("demo: the worker process exited on its own: %w\n%s", w.err, strings.TrimSpace(w.output.String()))
}

// glance is the time between looks at what the worker does.
const glance = 15 * time.Millisecond

// until waits until holds, and tells meanwhile what the bodies of steps do.
func (p *play) until(ctx context.Context, holds func() (bool, error)) error {
	for {
		if err := p.tell(); err != nil {
			return err
		}
		ok, err := holds()
		if err != nil || ok {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-p.worker.ended:
			if p.worker.err == nil {
				p.worker.err = io.ErrUnexpectedEOF
			}
			return p.worker.failure()
		case <-time.After(glance):
		}
	}
}
