package compare

// This file is the child: it opens one engine, runs one workload, and says what came of it.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	"github.com/stepwell/stepwell/bench/engine"
	"github.com/stepwell/stepwell/bench/floor"
	"github.com/stepwell/stepwell/bench/measure"
	"github.com/stepwell/stepwell/bench/work"
)

// closing is how long an engine may take to stop.
const closing = 10 * time.Second

type child struct {
	order
	maker *engine.Maker
	line  *line
	open  engine.Engine
}

// obey is what a child does. Its exit code says nothing: the parent has its messages.
func obey(ctx context.Context, text string, makers []*engine.Maker) error {
	c := &child{line: newLine()}
	if err := json.Unmarshal([]byte(text), &c.order); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, c.Limit, fmt.Errorf("not finished after %s", c.Limit))
	defer cancel()
	result, err := c.measure(ctx, makers)
	if err != nil {
		if cause := context.Cause(ctx); cause != nil {
			err = fmt.Errorf("%w: %w", cause, err)
		}
		return c.line.out.Encode(message{Error: err.Error()})
	}
	return c.line.out.Encode(message{Result: result})
}

func (c *child) measure(ctx context.Context, makers []*engine.Maker) (_ *measure.Result, err error) {
	r := &measure.Result{Engine: c.Engine, Store: string(c.Store.Kind), Work: c.Point.Work, N: c.Point.N, Concurrency: c.Point.Concurrency}
	begin := func() error { return c.line.mark(markBegin) }
	end := func() error { return c.line.mark(markEnd) }
	if c.Engine == floor.Name {
		return r, floor.Run(ctx, &floor.Floor{Point: c.Point, Store: c.Store, Pgbench: c.Pgbench, Result: r, Begin: begin, End: end})
	}
	i := slices.IndexFunc(makers, func(m *engine.Maker) bool { return m.Name == c.Engine })
	if i < 0 {
		return nil, fmt.Errorf("no engine is called %q", c.Engine)
	}
	c.maker = makers[i]
	r.Version = c.maker.Version
	if c.Victim > 0 {
		return r, c.beVictim(ctx)
	}
	w, err := work.Find(c.Point.Work)
	if err != nil {
		return nil, err
	}
	b := &work.Bench{Point: c.Point, Result: r, Begin: begin, End: end, Victim: c.victim}
	b.Reopen = func(ctx context.Context) (err error) {
		b.Engine, err = c.maker.Open(ctx, c.Store)
		c.open = b.Engine
		return err
	}
	defer func() { err = errors.Join(err, c.close()) }()
	if !w.Opens {
		if err := b.Reopen(ctx); err != nil {
			return nil, err
		}
	}
	return r, w.Run(ctx, b)
}

func (c *child) close() error {
	if c.open == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), closing)
	defer cancel()
	if err := c.open.Close(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "close:", err) // what was measured stands
	}
	return nil
}

// beVictim begins runs, says so, and waits for the end of this process.
func (c *child) beVictim(ctx context.Context) error {
	e, err := c.maker.Open(ctx, c.Store)
	if err != nil {
		return err
	}
	t, ok := e.(engine.Ticker)
	if !ok {
		return work.ErrNotOffered
	}
	if err := t.Tick(ctx, c.Victim); err != nil {
		return err
	}
	if err := c.line.mark(markReady); err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, c.line.answers) // ends when whoever started this is gone
	return err
}

// victim starts a process that is to be killed: see work.Bench.
func (c *child) victim(_ context.Context, n int) (kill func() error, err error) {
	o := c.order
	o.Victim = n
	p, err := spawn(&o)
	if err != nil {
		return nil, err
	}
	ready := make(chan error, 1)
	go func() {
		_, err := listen(p.messages, p.answers, func(string) error { ready <- nil; return nil })
		ready <- err
	}()
	if err := <-ready; err != nil {
		return nil, errors.Join(err, p.kill())
	}
	return p.kill, nil
}

// process is a child as its parent sees it.
type process struct {
	cmd      *exec.Cmd
	messages *os.File
	answers  *os.File
	log      *os.File // what it printed; nil: discarded
}

// spawn starts this program anew, with an order.
func spawn(o *order) (p *process, err error) {
	text, err := json.Marshal(o)
	if err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	said, says, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer says.Close()
	hears, heard, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(err, said.Close())
	}
	defer hears.Close()
	p = &process{cmd: exec.Command(self, "-one", string(text)), messages: said, answers: heard}
	if p.log, err = os.CreateTemp(filepath.Dir(o.Store.Dir), "output-*.log"); err != nil {
		return nil, errors.Join(err, said.Close(), heard.Close())
	}
	p.cmd.Stdout, p.cmd.Stderr = p.log, p.log
	p.cmd.ExtraFiles = []*os.File{says, hears}
	p.cmd.Env = append(os.Environ(), childEnv+"=1")
	apart(p.cmd)
	if err := p.cmd.Start(); err != nil {
		return nil, errors.Join(err, said.Close(), heard.Close(), p.log.Close())
	}
	return p, nil
}

// childEnv is set in children: a test binary sees by it that it is one.
const childEnv = "STEPWELL_BENCH_CHILD"

// kill ends the process and what it started, and waits for its end.
func (p *process) kill() error {
	err := killAll(p.cmd)
	_ = p.cmd.Wait() // it was killed
	return errors.Join(err, p.messages.Close(), p.answers.Close(), p.log.Close())
}

// wait waits until the process has ended of itself, at most so long; then it is killed.
func (p *process) wait(within time.Duration) error {
	ended := make(chan error, 1)
	go func() { ended <- p.cmd.Wait() }()
	var err error
	select {
	case err = <-ended:
	case <-time.After(within):
		err = errors.Join(fmt.Errorf("the child did not end within %s", within), killAll(p.cmd))
		<-ended
	}
	return errors.Join(err, p.messages.Close(), p.answers.Close(), p.log.Close())
}

// output is the end of what a process printed.
func (p *process) output() string {
	b, err := os.ReadFile(p.log.Name())
	if err != nil {
		return ""
	}
	return string(b[max(0, len(b)-2000):])
}
