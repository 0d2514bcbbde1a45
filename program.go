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

// Main is a whole program. It opens [Config].Database, works on runs until SIGINT or SIGTERM comes, lets steps end as
// [App.Run] does, and returns; where something fails it ends the process, with the error on standard error and exit
// code 1. A second signal ends the process at once. The program imports the package of its database:
//
//	import _ "github.com/stepwell/stepwell/world/sqlite"
//
//	func main() { stepwell.Main(stepwell.Config{Definitions: definitions}) }
//
// With a function it works until that returns: ctx ends at the signal, and where the worker fails; see [App.RunUntil]. An
// error that the function returns then, as it had not come to its end, is one.
//
// Main answers to stepwell check, as check.Main does, so call it before anything is opened. For all else that a program
// does around its work there are [Open], [New] and [App.Run].
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

// RunUntil works on runs as [App.Run] does, until fn returns. fn's context ends with ctx, and where the worker fails.
// RunUntil returns when all that it started has ended: the worker's error, or else fn's.
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

// AppFrom is the App that runs the step whose body has this context, so that the body can start runs, send and ask.
// Elsewhere it is nil.
func AppFrom(ctx context.Context) *App {
	app, _ := engine.AppOf(ctx).(*App)
	return app
}
