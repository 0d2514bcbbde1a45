//go:build go1.21

package captured

import (
	"context"

	"github.com/stepwell/stepwell"
)

func old(ctx stepwell.Context, lines []string) error {
	for i, line := range lines {
		stepwell.AddUndo(ctx, "refund", func(ctx context.Context, _ any) error { return charge(ctx, line) }, nil) // want `sees the line of a later round: in a file of go1.21 all rounds share it`
		i := i
		stepwell.AddUndo(ctx, "refund", func(ctx context.Context, _ any) error { return charge(ctx, lines[i]) }, nil)
	}
	for i := 0; i < len(lines); i++ {
		stepwell.AddUndo(ctx, "refund", func(ctx context.Context, _ any) error { return charge(ctx, lines[i]) }, nil) // want `sees the i of a later round`
	}
	return nil
}
