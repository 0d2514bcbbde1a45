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
		stepwell.Compensate(ctx, "refund", func(ctx context.Context) error {
			return charge(ctx, line+lines[n]) // want `sees the line of a later round` `sees the n of a later round`
		})
		n++
	}
	for _, one := range lines {
		line = one
		total += len(one)
		stepwell.Compensate(ctx, "sum", func(ctx context.Context) error { return charge(ctx, one+string(rune(total))) }) // near: captured
	}
	return nil
}
