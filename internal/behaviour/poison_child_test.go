package behaviour_test

// This file holds the worker process of the poison tests: this test binary, executed again, with steps and workflow code that end it.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/sqlite"
)

// poisonedEnv holds a poisoned worker's orders, as JSON.
const poisonedEnv = "STEPWELL_TEST_POISONED"

// poisoned says what the worker process works with.
type poisoned struct {
	Dir   string // of runs.db and starts.log
	Build string // "bad": workflow code exits
	Long  time.Duration
	Done  bool // bodies that wait for a shutdown return at once

	app *stepwell.App // the worker's
}

func init() {
	orders := os.Getenv(poisonedEnv)
	if orders == "" {
		return
	}
	var p poisoned
	err := json.Unmarshal([]byte(orders), &p)
	if err == nil {
		err = p.work()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "poisoned worker:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

// deadly is how a poisoned process ends.
const deadly = 7

// work works until standard input ends, which is its SIGTERM.
func (p *poisoned) work() error {
	file, err := sqlite.Open(filepath.Join(p.Dir, "runs.db"))
	if err != nil {
		return err
	}
	app, err := stepwell.New(file, stepwell.Config{
		Definitions: p.definitions(), Name: "poisoned", Build: p.Build, Drain: 50 * time.Millisecond,
	})
	if err != nil {
		return err
	}
	p.app = app
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- app.Run(ctx) }()
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		stop()
	}()
	return errors.Join(<-ended, file.Close())
}

func (p *poisoned) definitions() []stepwell.Definition {
	one := func(name string, body func(context.Context) (int, error)) stepwell.Definition {
		return stepwell.Define(name, func(ctx stepwell.Context, _ int) (int, error) { return stepwell.Step(ctx, name, body) })
	}
	exit := func(context.Context) (int, error) { os.Exit(deadly); return 0, nil }
	calm := stepwell.DefineStep("calm", func(_ context.Context, n int) (int, error) { return n, nil })
	two := func(name string, body func(context.Context) (int, error)) []stepwell.Definition {
		task := stepwell.DefineStep(name, func(ctx context.Context, _ int) (int, error) { return body(ctx) })
		return []stepwell.Definition{task, stepwell.Define(name, func(ctx stepwell.Context, _ int) (int, error) {
			out, err := stepwell.All(ctx, calm.Start(ctx, 1), task.Start(ctx, 2)) // the second one is queued
			return len(out), err
		})}
	}
	code := stepwell.Define("code", func(ctx stepwell.Context, _ int) (int, error) {
		n, err := stepwell.Step(ctx, "before", func(context.Context) (int, error) { return 1, nil })
		if p.Build == "bad" {
			os.Exit(deadly)
		}
		return n, err
	})
	defs := []stepwell.Definition{
		calm, code, one("exits", exit), one("quick", func(context.Context) (int, error) { return 1, nil }),
		one("long", p.long), one("heeds", p.heeds), one("deaf", p.deaf),
	}
	defs = append(defs, one("asks", p.asks), one("asks-task", p.asks))
	defs = append(defs, two("task-asks", p.asks)...)
	defs = append(defs, two("task-exits", exit)...)
	defs = append(defs, two("task-long", p.long)...)
	defs = append(defs, two("task-quick", func(context.Context) (int, error) { return 1, nil })...)
	defs = append(defs, two("task-heeds", p.heeds)...)
	return append(defs, two("task-deaf", p.deaf)...)
}

func (p *poisoned) long(ctx context.Context) (int, error) {
	t := time.NewTimer(p.Long)
	defer t.Stop()
	select {
	case <-t.C:
		return 1, nil
	case <-ctx.Done():
		return 0, ctx.Err()
	}
}

// heeds runs until its worker shuts down.
func (p *poisoned) heeds(ctx context.Context) (int, error) {
	if err := p.note(ctx); err != nil || p.Done {
		return 1, err
	}
	<-ctx.Done()
	return 0, context.Cause(ctx)
}

// asks starts a run whose step ends the process, and waits for it.
func (p *poisoned) asks(ctx context.Context) (int, error) {
	info, poison := stepwell.Info(ctx), "exits"
	if info.Name == "asks-task" {
		poison = "task-exits"
	}
	run, err := p.app.Start(ctx, poison, json.RawMessage(`0`), stepwell.Key(info.IdempotencyKey))
	if err != nil {
		return 0, err
	}
	_, err = run.Result(ctx)
	failed, _ := errors.AsType[*stepwell.RunError](err)
	switch {
	case failed != nil && failed.Code == world.CodeCrashLoop:
		return 1, nil
	case err == nil:
		return 0, stepwell.Fatal(errors.New("the poisoned run completed"))
	}
	return 0, err
}

// deaf runs for ever.
func (p *poisoned) deaf(ctx context.Context) (int, error) {
	if err := p.note(ctx); err != nil || p.Done {
		return 1, err
	}
	select {}
}

// note appends a line in one write.
func (p *poisoned) note(ctx context.Context) error {
	f, err := os.OpenFile(filepath.Join(p.Dir, "starts.log"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(f, stepwell.Info(ctx).Name)
	return errors.Join(err, f.Close())
}
