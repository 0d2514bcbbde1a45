package stepwell

// The life of a program: from its start to the signal that ends it.

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/stepwell/stepwell/internal/check"
	"github.com/stepwell/stepwell/internal/engine"
	"github.com/stepwell/stepwell/internal/kit"
)

// Main runs a whole worker program. It opens [Config].Database, works on runs until SIGINT or
// SIGTERM, drains as [App.Run] does, and returns. On an error it prints the error to standard error
// and exits with code 1. A second signal exits at once. Import the package of the database:
//
//	import _ "github.com/stepwell/stepwell/world/sqlite"
//
//	func main() { stepwell.Main(stepwell.Config{Definitions: definitions}) }
//
// With a function, Main works until the function returns: see [App.RunUntil]. The function's ctx
// ends at the signal, or when the worker fails. If the function then returns an error, the program
// fails with it.
//
// Main also answers the command stepwell check, as check.Main does, so call it before you open
// anything. Programs that need more control use [Open], [New] and [App.Run].
func Main(cfg Config, fn ...func(ctx context.Context, app *App) error) {
	check.Main(func() (kit.Checking, error) { return kit.Checker(&cfg) })
	if err := program(cfg, fn); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func program(cfg Config, fn []func(ctx context.Context, app *App) error) (err error) {
	if len(fn) == 1 && fn[0] == nil {
		return fmt.Errorf("stepwell.Main: %w: the function is nil", ErrInvalid)
	}
	if len(fn) > 1 {
		return fmt.Errorf("stepwell.Main: %w: %d functions: want one, or none", ErrInvalid, len(fn))
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // the next signal is not caught
	w, err := Open(ctx, cfg.Database)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	app, err := New(w, cfg)
	if err != nil {
		return err
	}
	if len(fn) == 0 {
		return app.Run(ctx)
	}
	return app.RunUntil(ctx, func(ctx context.Context) error { return fn[0](ctx, app) })
}

// RunUntil works on runs, as [App.Run] does, until fn returns. fn's context ends with ctx, or when
// the worker fails. RunUntil returns once everything that it started has ended. It returns the
// worker's error, or else fn's.
func (a *App) RunUntil(ctx context.Context, fn func(ctx context.Context) error) (err error) {
	if fn == nil {
		return fmt.Errorf("run until: %w: no function", ErrInvalid)
	}
	ctx, stop := context.WithCancel(ctx)
	worked := make(chan error, 1)
	go func() {
		defer stop()
		worked <- a.Run(ctx)
	}()
	defer func() {
		stop()
		if e := <-worked; e != nil {
			err = e
		}
	}()
	return fn(ctx)
}

// AppFrom returns the App that runs the step with this context. Step bodies use it to start, signal
// and read runs. Outside a step it returns nil.
func AppFrom(ctx context.Context) *App {
	app, _ := engine.AppOf(ctx).(*App)
	return app
}
