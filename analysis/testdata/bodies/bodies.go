// Package bodies has what bodies of steps do with the workflow.
package bodies

import (
	"context"
	"slices"
	"time"

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
		ctx.Logger().Info("quoting", "run", ctx.RunID())
		ctx := c
		tries++ // of nobody but the body
		n := 0
		n += now.Hour()
		lines := slices.Clone(o.Lines)
		slices.Sort(lines)
		return n, charge(ctx, stepwell.Info(ctx).IdempotencyKey, n)
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
