// Package bodies has what bodies of steps do with the workflow.
package bodies

import (
	"context"
	"slices"
	"time"

	"example.com/vet/bodies/shelf"
	"github.com/stepwell/stepwell"
)

type Order struct {
	ID    string
	Lines []string
}

func charge(ctx context.Context, key string, cents int) error { return nil }

func quote(ctx context.Context) (int, error) { return 1, nil }

func wrong(ctx stepwell.Context, o Order) (int, error) {
	total, last := 0, ""
	err := stepwell.Do(ctx, "quote", func(c context.Context) error {
		n, _ := quote(c)
		total += n                            // want `the body of a step changes total, a variable of the workflow`
		o.Lines[0] = "x"                      // want `the body of a step changes o, a variable of the workflow`
		last = ctx.Now().String()             // want `the workflow's Context ctx in the body of a step` `the body of a step changes last`
		if err := inner(ctx, o); err != nil { // want `the workflow's Context ctx in the body of a step`
			return err
		}
		return stepwell.Sleep(ctx, "nap", 3) // want `stepwell.Sleep in the body of a step: steps do not nest`
	})
	if err != nil {
		return len(last), err
	}
	if err := stepwell.Do(ctx, "sort", func(ctx context.Context) error {
		slices.Sort(o.Lines) // want `the body of a step changes o`
		return nil
	}); err != nil {
		return 0, err
	}
	err = stepwell.Do(ctx, "charge", func(ctx context.Context) error {
		return charge(ctx, "k"+time.Now().String(), total) // want `a key of time.Now in the body of a step`
	})
	return total + len(o.Lines), err
}

func inner(ctx stepwell.Context, o Order) error { return nil }

var Charge = stepwell.DefineStep("charge", func(ctx context.Context, o Order) (int, error) {
	return 0, charge(ctx, time.Now().String(), 1) // want `a key of time.Now in the body of a step`
})

func right(ctx stepwell.Context, o Order) (int, error) {
	now := ctx.Now()
	tries := 0
	total, err := stepwell.Step(ctx, "quote", func(c context.Context) (int, error) {
		ctx.Logger().Info("quoting", "run", ctx.RunID()) // near: context
		ctx := c
		tries++ // of nobody but the body
		n := 0
		n += now.Hour() // near: bodywrites
		lines := slices.Clone(o.Lines)
		slices.Sort(lines)
		return n, charge(ctx, stepwell.Info(ctx).IdempotencyKey, n) // near: nested
	})
	if err != nil {
		return 0, err
	}
	total++
	slices.Sort(o.Lines)
	err = stepwell.Do(ctx, "charge", func(ctx context.Context) error {
		err = charge(ctx, stepwell.Info(ctx).IdempotencyKey, total) // what is returned is the same
		return err
	})
	return total, err
}

// load fills what it is a method of; size only looks.
func (o *Order) load() { o.Lines = append(o.Lines, "x") }

func (o *Order) size() int { return len(o.Lines) }

func fill(o *Order, n int) { o.load() }

func look(o *Order) int { return o.size() }

func rename(o Order, id string) { o.ID = id }

func label(m map[string]string) { m["x"] = "y" }

// shop is of the program: what it keeps is its own.
type shop struct{ calls int }

func (s *shop) call() error { s.calls++; return nil }

func (s *shop) flow(ctx stepwell.Context) (int, error) {
	err := stepwell.Do(ctx, "call", func(ctx context.Context) error { return s.call() })
	return s.limit(), err
}

func (s *shop) limit() int { return 3 }

func pointers(ctx stepwell.Context, o Order) (int, error) {
	p, more, labels := &o, &Order{}, map[string]string{}
	lines, list := o.Lines, []*Order{{}}
	err := stepwell.Do(ctx, "load", func(ctx context.Context) error {
		p.ID = "x"     // want `the body of a step changes p, a variable of the workflow`
		fill(more, 3)  // want `the body of a step changes more with bodies.fill, a variable of the workflow`
		label(labels)  // want `the body of a step changes labels with bodies.label`
		lines[0] = "y" // want `the body of a step changes lines`
		return nil
	})
	if err != nil {
		return 0, err
	}
	for _, one := range list {
		if err := stepwell.Do(ctx, "load", func(ctx context.Context) error {
			one.load() // want `the body of a step changes one with Order.load`
			return nil
		}); err != nil {
			return 0, err
		}
	}
	err = stepwell.Do(ctx, "far", func(ctx context.Context) error {
		shelf.Put(o.Lines) // want `the body of a step changes o with shelf.Put`
		shelf.Look(more.Lines)
		return nil
	})
	return len(o.Lines) + len(o.ID) + len(more.Lines) + len(labels) + list[0].size(), err
}

func (o *Order) fetch(ctx context.Context) error { o.load(); return nil }

func (o *Order) see(ctx context.Context) error { return nil }

func methods(ctx stepwell.Context, o, near Order) (int, error) {
	if err := stepwell.Do(ctx, "fetch", o.fetch); err != nil { // want `the body of a step changes o with Order.fetch`
		return 0, err
	}
	if err := stepwell.Do(ctx, "see", near.see); err != nil {
		return 0, err
	}
	return o.size() + near.size(), nil
}

// A pointer that is handed on is of the workflow where it points at data, and of the program otherwise.
func handed(ctx stepwell.Context, o *Order, s *shop) (int, error) {
	stepwell.AddUndo(ctx, "call", func(ctx context.Context, _ any) error { return s.call() }, nil)
	err := stepwell.Do(ctx, "load", func(ctx context.Context) error {
		o.load() // want `the body of a step changes o with Order.load`
		return s.call()
	})
	return o.size() + s.limit(), err
}

func outside() []stepwell.Definition {
	var o Order // of the program
	one := stepwell.Define("one", func(ctx stepwell.Context, n int) (int, error) {
		if err := stepwell.Do(ctx, "fetch", o.fetch); err != nil {
			return 0, err
		}
		return n, stepwell.Do(ctx, "see", o.see)
	})
	return []stepwell.Definition{one}
}

func nearPointers(ctx stepwell.Context, o Order) (int, error) {
	lines := slices.Clone(o.Lines)
	err := stepwell.Do(ctx, "load", func(ctx context.Context) error {
		p, own := o, o
		rename(o, "x") // it gets a copy
		_ = look(&p)
		own.load()
		slices.Sort(lines) // nobody reads it
		return nil
	})
	o.load() // between steps it may
	fill(&o, 1)
	return o.size(), err
}

var keptContext stepwell.Context

func later() stepwell.Context { return keptContext } // want `later returns the workflow's Context, which it has from somewhere`

type bag struct{ ctx stepwell.Context }

func returned(ctx stepwell.Context) error {
	f := stepwell.Go(ctx, func(ctx stepwell.Context) (stepwell.Context, error) { return ctx, nil }) // want `what Go returns has the workflow's Context`
	got, err := f.Get(ctx)
	if err != nil {
		return err
	}
	_, err = stepwell.Step(got, "bag", func(context.Context) (*bag, error) { return nil, nil }) // want `what Step returns has the workflow's Context`
	return err
}

// part hands on what it was handed.
func part(ctx stepwell.Context) (stepwell.Context, func()) { return stepwell.WithCancel(ctx) }
