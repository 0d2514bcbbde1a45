// Temporal is the order system of examples/orders for Temporal, as its documentation would have it and as
// short as that goes. It needs a server.
package main

import (
	"context"
	"errors"
	"log"
	"slices"
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/stepwell/stepwell/bench/orders/shop"
)

var options = workflow.ActivityOptions{
	StartToCloseTimeout: time.Minute,
	RetryPolicy:         &temporal.RetryPolicy{MaximumAttempts: 3},
}

// Buy is the workflow.
func Buy(ctx workflow.Context, o shop.Order) (result shop.Result, err error) {
	ctx = workflow.WithActivityOptions(ctx, options)
	var undo []any
	defer func() {
		if err != nil || result.Outcome == "refused" {
			ctx, _ := workflow.NewDisconnectedContext(ctx) // also where the workflow is cancelled
			ctx = workflow.WithRetryPolicy(ctx, temporal.RetryPolicy{})
			for _, activity := range slices.Backward(undo) {
				err = errors.Join(err, workflow.ExecuteActivity(ctx, activity, o).Get(ctx, nil))
			}
		}
	}()
	undo = append(undo, shop.Release)
	if err := workflow.ExecuteActivity(ctx, shop.Reserve, o).Get(ctx, nil); err != nil {
		return result, err
	}
	if o.Cents > 100_000 {
		if err := workflow.ExecuteActivity(ctx, shop.Ask, o).Get(ctx, nil); err != nil {
			return result, err
		}
		var d shop.Decision
		approval := workflow.GetSignalChannel(ctx, "approval")
		for day := 1; day <= 3; day++ {
			if ok, _ := approval.ReceiveWithTimeout(ctx, 24*time.Hour, &d); ok || day == 3 {
				break
			}
			if err := workflow.ExecuteActivity(ctx, shop.Remind, o).Get(ctx, nil); err != nil {
				return result, err
			}
		}
		if ctx.Err() != nil {
			return result, ctx.Err()
		}
		if !d.OK {
			return shop.Result{Outcome: "refused"}, nil
		}
	}
	undo = append(undo, shop.Refund)
	if err := workflow.ExecuteActivity(ctx, shop.Charge, o).Get(ctx, &result.Receipt); err != nil {
		return result, err
	}
	if err := workflow.ExecuteActivity(ctx, shop.Ship, o).Get(ctx, nil); err != nil {
		return result, err
	}
	result.Outcome = "shipped"
	return result, nil
}

func start(ctx context.Context, c client.Client, o shop.Order) error {
	_, err := c.ExecuteWorkflow(ctx, client.StartWorkflowOptions{ID: o.ID, TaskQueue: "orders"}, Buy, o)
	return err
}

func answer(ctx context.Context, c client.Client, order string, d shop.Decision) error {
	return c.SignalWorkflow(ctx, order, "", "approval", d)
}

func main() {
	c, err := client.Dial(client.Options{})
	if err != nil {
		log.Fatalln(err)
	}
	defer c.Close()
	w := worker.New(c, "orders", worker.Options{})
	w.RegisterWorkflow(Buy)
	for _, activity := range []any{shop.Reserve, shop.Release, shop.Ask, shop.Remind, shop.Charge, shop.Refund, shop.Ship} {
		w.RegisterActivity(activity)
	}
	if err := w.Run(worker.InterruptCh()); err != nil {
		log.Fatalln(err)
	}
}
