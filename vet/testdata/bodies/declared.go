package bodies

import (
	"context"
	"fmt"
	"time"

	"github.com/stepwell/stepwell"
)

type bank struct{}

func (b *bank) pay(ctx context.Context, n int) (int, error) {
	return n, charge(ctx, fmt.Sprint(time.Now()), n) // want `a key of time.Now in the body of a step`
}

func seal(ctx context.Context, privateKey, text string) error { return nil }

func (b *bank) seal(ctx context.Context, n int) (int, error) {
	return n, seal(ctx, fmt.Sprint(time.Now()), "x") // near: keys
}

func declared(b *bank) []stepwell.Definition {
	return []stepwell.Definition{stepwell.DefineStep("pay", b.pay), stepwell.DefineStep("seal", b.seal)}
}

func (b *bank) take(ctx context.Context, n int) (int, error) {
	return n, charge(ctx, fmt.Sprint(time.Now()), n) // want `a key of time.Now in the body of a step`
}

func (b *bank) note(ctx context.Context, n int) error {
	return charge(ctx, fmt.Sprint(time.Now()), n) // want `a key of time.Now in the body of a step`
}

func called(ctx stepwell.Context, b *bank) (int, error) {
	if err := stepwell.Exec(ctx, "note", b.note, 3); err != nil {
		return 0, err
	}
	return stepwell.Call(ctx, "take", b.take, 3)
}

func nested(ctx stepwell.Context) (int, error) {
	return stepwell.Call(ctx, "outer", func(c context.Context, n int) (int, error) {
		return n, stepwell.Sleep(ctx, "nap", time.Second) // want `stepwell.Sleep in the body of a step: steps do not nest`
	}, 3)
}
