// Restate is the order system of examples/orders for Restate, as its documentation would have it and as short
// as that goes. It needs a server.
package main

import (
	"context"
	"errors"
	"log"
	"slices"
	"time"

	restate "github.com/restatedev/sdk-go"
	"github.com/restatedev/sdk-go/ingress"
	"github.com/restatedev/sdk-go/server"

	"github.com/stepwell/stepwell/bench/orders/shop"
)

// step runs a function without a result as a step.
func step(ctx restate.Context, name string, fn func(context.Context, shop.Order) error, o shop.Order, opts ...restate.RunOption) error {
	return restate.RunVoid(ctx, func(ctx restate.RunContext) error { return fn(ctx, o) }, append(opts, restate.WithName(name))...)
}

var thrice = restate.WithMaxRetryAttempts(3)

// Buy is the workflow.
type Buy struct{}

// Run is the workflow's code.
func (Buy) Run(ctx restate.WorkflowContext, o shop.Order) (result shop.Result, err error) {
	var undo []func() error
	defer func() {
		if err != nil || result.Outcome == "refused" {
			for _, u := range slices.Backward(undo) {
				err = errors.Join(err, u())
			}
		}
	}()
	undo = append(undo, func() error { return step(ctx, "release", shop.Release, o) })
	if err := step(ctx, "reserve", shop.Reserve, o, thrice); err != nil {
		return result, err
	}
	if o.Cents > 100_000 {
		if err := step(ctx, "ask", shop.Ask, o, thrice); err != nil {
			return result, err
		}
		var d shop.Decision
		approval := restate.Promise[shop.Decision](ctx, "approval")
		for day := 1; day <= 3; day++ {
			first, err := restate.WaitFirst(ctx, approval, restate.After(ctx, 24*time.Hour))
			if err != nil {
				return result, err
			}
			if first == approval {
				if d, err = approval.Result(); err != nil {
					return result, err
				}
				break
			}
			if day < 3 {
				if err := step(ctx, "remind", shop.Remind, o, thrice); err != nil {
					return result, err
				}
			}
		}
		if !d.OK {
			return shop.Result{Outcome: "refused"}, nil
		}
	}
	undo = append(undo, func() error { return step(ctx, "refund", shop.Refund, o) })
	result.Receipt, err = restate.Run(ctx, func(ctx restate.RunContext) (string, error) { return shop.Charge(ctx, o) }, restate.WithName("charge"), thrice)
	if err != nil {
		return result, err
	}
	if err := step(ctx, "ship", shop.Ship, o, thrice); err != nil {
		return result, err
	}
	result.Outcome = "shipped"
	return result, nil
}

// Answer is called for a workflow that waits.
func (Buy) Answer(ctx restate.WorkflowSharedContext, d shop.Decision) error {
	return restate.Promise[shop.Decision](ctx, "approval").Resolve(d)
}

func start(ctx context.Context, c *ingress.Client, o shop.Order) error {
	_, err := ingress.WorkflowSend[shop.Order](c, "Buy", o.ID, "Run").Send(ctx, o)
	return err
}

func answer(ctx context.Context, c *ingress.Client, order string, d shop.Decision) error {
	_, err := ingress.Workflow[shop.Decision, restate.Void](c, "Buy", order, "Answer").Request(ctx, d)
	return err
}

func main() {
	if err := server.NewRestate().Bind(restate.Reflect(Buy{})).Start(context.Background(), ":9080"); err != nil {
		log.Fatal(err)
	}
}
