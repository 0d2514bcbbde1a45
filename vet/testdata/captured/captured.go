// Package captured has variables of loops.
package captured

import (
	"context"

	"github.com/stepwell/stepwell"
)

func charge(ctx context.Context, line string) error { return nil }

func wrong(ctx stepwell.Context, lines []string) error {
	var all []*stepwell.Future[struct{}]
	var line string
	for _, line = range lines {
		all = append(all, stepwell.Go(ctx, func(ctx stepwell.Context) (struct{}, error) {
			return struct{}{}, stepwell.Do(ctx, "charge", func(ctx context.Context) error { return charge(ctx, line) }) // want `what stepwell.Go is given runs when the loop has gone on, and sees the line of a later round: it is declared outside of the loop`
		}))
	}
	i := 0
	for ; i < len(lines); i++ {
		stepwell.AddUndo(ctx, "refund", func(ctx context.Context, _ any) error { return charge(ctx, lines[i]) }, nil) // want `what stepwell.AddUndo is given runs when the loop has gone on, and sees the i of a later round`
	}
	for _, line = range lines {
		undo := stepwell.Undo("refund", func(ctx context.Context, _ any) error { return charge(ctx, line) }, nil) // want `what stepwell.Undo is given runs when the loop has gone on, and sees the line of a later round`
		if err := stepwell.Do(ctx, "charge", func(ctx context.Context) error { return charge(ctx, line) }, undo); err != nil {
			return err
		}
	}
	_, err := stepwell.All(ctx, all...)
	return err
}

func right(ctx stepwell.Context, lines []string) error {
	var all []*stepwell.Future[struct{}]
	done := 0
	for i, line := range lines { // each round has its own
		all = append(all, stepwell.Go(ctx, func(ctx stepwell.Context) (struct{}, error) {
			done++ // all rounds have it in common, on purpose
			return struct{}{}, stepwell.Do(ctx, "charge", func(ctx context.Context) error { return charge(ctx, lines[i]+line) })
		}))
	}
	for i := 0; i < len(lines); i++ {
		stepwell.AddUndo(ctx, "refund", func(ctx context.Context, _ any) error { return charge(ctx, lines[i]) }, nil)
	}
	var line string
	for _, line = range lines {
		own := line
		_ = stepwell.Do(ctx, "hold", func(ctx context.Context) error { return charge(ctx, line) }, stepwell.Undo("free", func(ctx context.Context, _ any) error { return charge(ctx, own) }, nil))
		stepwell.AddUndo(ctx, "refund", func(ctx context.Context, _ any) error { return charge(ctx, own) }, nil) // near: captured
		part := stepwell.Go(ctx, func(ctx stepwell.Context) (struct{}, error) {                                  // the round waits for it
			return struct{}{}, stepwell.Do(ctx, "charge", func(ctx context.Context) error { return charge(ctx, line) })
		})
		if _, err := part.Get(ctx); err != nil {
			return err
		}
		if err := stepwell.Do(ctx, "charge", func(ctx context.Context) error { return charge(ctx, line) }); err != nil { // it runs at once
			return err
		}
	}
	_, err := stepwell.All(ctx, all...)
	return err
}
