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
