// Package through has what is found through helpers, closures, methods, generics and structs.
package through

import (
	"context"
	"sync/atomic"
	"time"

	"example.com/vet/through/desk"
	"github.com/stepwell/stepwell"
)

func work(ctx context.Context) error { return nil }

func ship(ctx stepwell.Context, name string) error { return stepwell.Do(ctx, name, work) }

func generic[T any](ctx stepwell.Context, v T) (T, error) {
	return v, stepwell.Do(ctx, "generic", work)
}

type state struct {
	ctx  stepwell.Context
	name string
	run  func() error
	sum  int
}

func (s *state) ship() error { return stepwell.Do(s.ctx, "ship", work) }

func (s *state) label() string { return s.name + s.ctx.RunID() }

func (s *state) asBody(c context.Context) error { return s.ship() }

func (s *state) plain(c context.Context) error { return work(c) }

func (s *state) clock() string { return time.Now().String() + s.ctx.NewID() } // want `time.Now in workflow code`

func (s *state) add(n int) { s.sum += n }

func useState(s *state) error { return s.ship() }

func nestedThrough(ctx stepwell.Context, name string) error {
	s := &state{ctx: ctx, name: name}
	ask := func() error { return ship(ctx, "x") }
	s.run = func() error { return ship(ctx, "y") }
	method, now, bag := s.ship, ctx.Now, desk.NewBag(ctx)
	if err := stepwell.Do(ctx, "one", func(c context.Context) error {
		if err := ship(ctx, "z"); err != nil { // want `through.ship comes to stepwell.Do in the body of a step: steps do not nest`
			return err
		}
		if _, err := generic(ctx, 3); err != nil { // want `through.generic comes to stepwell.Do in the body of a step`
			return err
		}
		if err := s.ship(); err != nil { // want `state.ship comes to stepwell.Do in the body of a step`
			return err
		}
		if err := useState(s); err != nil { // want `through.useState comes to stepwell.Do in the body of a step`
			return err
		}
		if err := ask(); err != nil { // want `ask comes to stepwell.Do in the body of a step`
			return err
		}
		if err := s.run(); err != nil { // want `run comes to stepwell.Do in the body of a step`
			return err
		}
		if err := method(); err != nil { // want `method comes to stepwell.Do in the body of a step`
			return err
		}
		if err := bag.Ship("far"); err != nil { // want `Bag.Ship comes to stepwell.Do in the body of a step`
			return err
		}
		_ = now()                              // want `now uses the workflow's Context in the body of a step`
		_ = s.ctx.Now()                        // want `the workflow's Context s.ctx in the body of a step`
		return stepwell.Sleep(s.ctx, "nap", 3) // want `stepwell.Sleep in the body of a step`
	}); err != nil {
		return err
	}
	if err := stepwell.Do(ctx, "as-body", s.asBody); err != nil { // want `state.asBody comes to stepwell.Do in the body of a step`
		return err
	}
	if err := desk.InBody(ctx, func() error { return ship(ctx, "w") }); err != nil { // want `through.ship comes to stepwell.Do in the body of a step`
		return err
	}
	inBody := func(fn func() error) error {
		return stepwell.Do(ctx, "in", func(context.Context) error { return fn() })
	}
	return inBody(func() error { return ship(ctx, "v") }) // want `through.ship comes to stepwell.Do in the body of a step`
}

func nearNested(ctx stepwell.Context) error {
	s, bag := &state{ctx: ctx, name: "x"}, desk.NewBag(ctx)
	ask := func() error { return ship(ctx, "x") }
	quiet := func() string { return ctx.RunID() }
	at := ctx.Now()
	if err := stepwell.Do(ctx, "one", func(c context.Context) error {
		_ = quiet() + s.label() + s.name + bag.Label() + s.ctx.RunID()
		_ = at
		return s.plain(c)
	}); err != nil {
		return err
	}
	if err := stepwell.Do(ctx, "plain", s.plain); err != nil {
		return err
	}
	_ = s.clock()
	if err := ask(); err != nil {
		return err
	}
	if err := useState(s); err != nil {
		return err
	}
	return bag.Ship("far")
}

var (
	held     *state
	heldFunc func() error
	atomics  atomic.Pointer[state]
	keeper   desk.Keeper
	away     = make(chan *state, 1)
)

type server struct {
	ctx  stepwell.Context
	last *state
}

var Kept = stepwell.Define("kept", (&server{}).flow)

func (s *server) flow(ctx stepwell.Context, n int) (int, error) {
	s.ctx = ctx                                       // want `the workflow's Context is kept in s, which outlives the evaluation`
	held = &state{ctx: ctx}                           // want `the workflow's Context is kept in held`
	heldFunc = func() error { return ship(ctx, "x") } // want `the workflow's Context is kept in heldFunc`
	one := &state{ctx: ctx}
	heldFunc = one.ship // want `the workflow's Context is kept in heldFunc`
	atomics.Store(one)  // want `the workflow's Context is kept in atomics`
	away <- one         // want `the workflow's Context is sent away` `a send on a channel`
	keeper.Keep(ctx)    // want `Keeper.Keep keeps the workflow's Context in keeper`
	keepIn(&held, ctx)  // want `workflow code reads held` `through.keepIn keeps the workflow's Context in held`
	go one.ship()       // want `the workflow's Context on another goroutine` `a go statement`
	go func() {         // want `a go statement`
		_ = one.ship() // want `state.ship uses the workflow's Context on another goroutine`
	}()
	var own desk.Keeper
	own.Keep(ctx)
	var mine *state
	keepIn(&mine, ctx)
	local := map[string]*state{"x": one}
	local["y"] = mine
	return n, local["y"].ship()
}

func keepIn(to **state, ctx stepwell.Context) { *to = &state{ctx: ctx} }

// A state of one run may be given its Context where it is made.
func (s *state) begin(ctx stepwell.Context) *state {
	s.ctx = ctx
	return s
}

func begun(ctx stepwell.Context) error { return new(state).begin(ctx).ship() }
