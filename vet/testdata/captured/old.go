//go:build go1.21

package captured

import (
	"context"

	"github.com/stepwell/stepwell"
)

func old(ctx stepwell.Context, lines []string) error {
	for i, line := range lines {
		stepwell.Compensate(ctx, "refund", func(ctx context.Context) error { return charge(ctx, line) }) // want `sees the line of a later round: in a file of go1.21 all rounds share it`
		i := i
		stepwell.Compensate(ctx, "refund", func(ctx context.Context) error { return charge(ctx, lines[i]) })
	}
	for i := 0; i < len(lines); i++ {
		stepwell.Compensate(ctx, "refund", func(ctx context.Context) error { return charge(ctx, lines[i]) }) // want `sees the i of a later round`
	}
	return nil
}
