package restate

import (
	"fmt"
	"time"

	sdk "github.com/restatedev/sdk-go"
)

// This file holds the handlers and the one step that are run.

// name is the service's.
const name = "bench"

// input is what each handler is given: the run's number, where it is to be known, and how many.
type input struct {
	Run int64
	N   int
}

// service binds the handlers.
func (p *peer) service() sdk.ServiceDefinition {
	return sdk.NewService(name).
		Handler("serial", sdk.NewServiceHandler(p.serial)).
		Handler("fanout", sdk.NewServiceHandler(p.fanout)).
		Handler("sleeper", sdk.NewServiceHandler(sleeper, sdk.WithInactivityTimeout(100*time.Millisecond))).
		Handler("signalled", sdk.NewServiceHandler(p.signalled)).
		Handler("parent", sdk.NewServiceHandler(parent)).
		Handler("child", sdk.NewServiceHandler(child))
}

// step is the trivial step: it returns its number. Of a run whose number is not 0 it notes when it began.
func (p *peer) step(run int64, i int) func(sdk.RunContext) (int, error) {
	return func(sdk.RunContext) (int, error) {
		if run != 0 {
			now := time.Now()
			if at, found := p.gaps.Load(run); found {
				at.([]time.Time)[i] = now
			}
			if at, found := p.began.LoadAndDelete(run); found {
				at.(chan time.Time) <- now // has room for it
			}
		}
		return i, nil
	}
}

func (p *peer) serial(ctx sdk.Context, in input) (int, error) {
	id := ctx.Request().ID
	p.last.Store(&id)
	for i := range in.N {
		if _, err := sdk.Run(ctx, p.step(in.Run, i)); err != nil {
			return i, err
		}
	}
	return in.N, nil
}

func (p *peer) fanout(ctx sdk.Context, in input) (int, error) {
	steps := make([]sdk.RunAsyncFuture[int], in.N)
	for i := range steps {
		steps[i] = sdk.RunAsync(ctx, p.step(0, i))
	}
	for i, step := range steps {
		if _, err := step.Result(); err != nil {
			return i, err
		}
	}
	return in.N, nil
}

func sleeper(ctx sdk.Context, _ input) (int, error) {
	if err := sdk.Sleep(ctx, 24*time.Hour); err != nil {
		return 0, err
	}
	return 0, nil
}

func (p *peer) signalled(ctx sdk.Context, in input) (int, error) {
	signal := sdk.Awakeable[int](ctx)
	if waits, found := p.waits.LoadAndDelete(in.Run); found {
		waits.(chan string) <- signal.Id() // has room for it
	}
	if _, err := signal.Result(); err != nil {
		return 0, err
	}
	return p.serial(ctx, in)
}

func parent(ctx sdk.Context, in input) (int, error) {
	children := make([]sdk.ResponseFuture[int], in.N)
	for i := range children {
		children[i] = sdk.Service[int](ctx, name, "child").RequestFuture(input{N: i})
	}
	for i, c := range children {
		if got, err := c.Response(); err != nil || got != i {
			return i, fmt.Errorf("child %d returned %d: %v", i, got, err)
		}
	}
	return in.N, nil
}

func child(_ sdk.Context, in input) (int, error) { return in.N, nil }
