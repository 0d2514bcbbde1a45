package through

import (
	"context"
	"fmt"
	"time"

	"example.com/vet/through/desk"
	"github.com/stepwell/stepwell"
)

type charge struct {
	IdempotencyKey string
	Cents          int
}

func pay(ctx context.Context, c charge) error { return nil }

func payWith(ctx context.Context, k string) error { return desk.Pay(ctx, k) }

var paid = stepwell.Event[int]("paid")

var Invoice = stepwell.Define("invoice", func(ctx stepwell.Context, n int) (int, error) { return n, nil })

func told(ctx stepwell.Context, id string) error { return paid.SendTo(ctx, id, 3) }

func keysThrough(ctx stepwell.Context, lines []string) error {
	if err := stepwell.Do(ctx, "pay", func(ctx context.Context) error {
		key := fmt.Sprint(time.Now())
		if err := desk.Pay(ctx, key); err != nil { // want `a key of time.Now in the body of a step`
			return err
		}
		if err := desk.Pay(ctx, desk.NewKey()); err != nil { // want `a key of desk.NewKey in the body of a step`
			return err
		}
		if err := payWith(ctx, desk.NewKey()); err != nil { // want `a key of desk.NewKey in the body of a step`
			return err
		}
		return pay(ctx, charge{IdempotencyKey: newKey(), Cents: 3}) // want `a key of through.newKey in the body of a step`
	}); err != nil {
		return err
	}
	for _, line := range lines {
		if err := stepwell.Do(ctx, "pay", func(ctx context.Context) error {
			_ = line
			return desk.Pay(ctx, "order-"+lines[0]) // want `each round of the loop has the same key`
		}); err != nil {
			return err
		}
		if err := stepwell.Do(ctx, "pay-for", func(ctx context.Context) error {
			return desk.PayFor(ctx, "7") // want `each round of the loop has the same key`
		}); err != nil {
			return err
		}
		if _, err := stepwell.NewHook[int](ctx, stepwell.Token("approve")); err != nil { // want `each round of the loop has the same token`
			return err
		}
		if _, err := Invoice.Child(stepwell.RunID("invoice")).Run(ctx, 3); err != nil { // want `each round of the loop has the same ID`
			return err
		}
	}
	return nil
}

func newKey() string { return fmt.Sprint(time.Now()) }

// nearCounted counts its rounds.
func nearCounted(ctx stepwell.Context, lines []string) error {
	for n := 0; ; n++ {
		if err := stepwell.Do(ctx, "pay", func(ctx context.Context) error { return desk.PayFor(ctx, fmt.Sprint("order-", n)) }); err != nil { // near: keys
			return err
		}
		if _, err := Invoice.Child(stepwell.RunID(fmt.Sprintf("invoice-%d", n))).Run(ctx, n); err != nil { // near: keys
			return err
		}
		round := n
		if _, err := stepwell.NewHook[int](ctx, stepwell.Token(fmt.Sprint("approve-", round))); err != nil { // near: keys
			return err
		}
		if n == len(lines) {
			return stepwell.ContinueAsNew(ctx, lines)
		}
	}
}

// nearDecremented counts them down, in the body.
func nearDecremented(ctx stepwell.Context, c charge) error {
	for left := 3; left > 0; {
		left--
		if _, err := Invoice.Child(stepwell.RunID(fmt.Sprint("invoice-", left))).Run(ctx, left); err != nil { // near: keys
			return err
		}
	}
	for {
		next(&c)
		if _, err := Invoice.Child(stepwell.RunID(fmt.Sprint("invoice-", c.Cents))).Run(ctx, c.Cents); err != nil { // near: keys
			return err
		}
		if c.Cents > 10 {
			return nil
		}
	}
}

func next(c *charge) { c.Cents++ }

func nearKeys(ctx stepwell.Context, lines []string) error {
	for i, line := range lines {
		if err := stepwell.Do(ctx, "pay", func(ctx context.Context) error {
			if err := desk.Pay(ctx, "order-"+line); err != nil { // near: keys
				return err
			}
			key := fmt.Sprint(i)
			_ = pay(ctx, charge{IdempotencyKey: key})
			_ = newKey()
			return desk.PayFor(ctx, stepwell.Info(ctx).IdempotencyKey)
		}); err != nil {
			return err
		}
		if _, err := Invoice.Child(stepwell.RunID("invoice-"+line)).Run(ctx, 3); err != nil {
			return err
		}
	}
	for _, line := range lines { // the first that is taken ends it
		h, err := stepwell.NewHook[int](ctx, stepwell.Token("approve-one"))
		if err != nil {
			return err
		}
		_, _, err = h.Wait(ctx)
		_ = line
		return err
	}
	return nil
}
