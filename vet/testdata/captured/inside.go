package captured

import (
	"context"

	"github.com/stepwell/stepwell"
)

func setInside(ctx stepwell.Context, lines []string) error {
	var line string
	n, total := 0, 0
	for n < len(lines) {
		line = lines[n]
		total = total + len(line)
		stepwell.AddUndo(ctx, "refund", func(ctx context.Context, _ any) error {
			return charge(ctx, line+lines[n]) // want `sees the line of a later round` `sees the n of a later round`
		}, nil)
		stepwell.AddUndo(ctx, "free", charge, line+lines[n]) // near: captured
		n++
	}
	for _, one := range lines {
		line = one
		total += len(one)
		stepwell.AddUndo(ctx, "sum", func(ctx context.Context, _ any) error { return charge(ctx, one+string(rune(total))) }, nil) // near: captured
	}
	return nil
}
