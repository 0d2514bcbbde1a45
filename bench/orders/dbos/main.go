// Dbos is the order system of examples/orders for DBOS, as its documentation would have it and as short as that goes.
package main

import (
	"context"
	"errors"
	"log"
	"os"
	"os/signal"
	"slices"
	"time"

	"github.com/dbos-inc/dbos-transact-golang/dbos"

	"github.com/stepwell/stepwell/bench/orders/shop"
)

// step runs a function without a result as a step.
func step(ctx dbos.Context, name string, fn func(context.Context, shop.Order) error, o shop.Order, retries int) error {
	_, err := dbos.RunAsStep(ctx, func(ctx context.Context) (bool, error) { return true, fn(ctx, o) },
		dbos.WithStepName(name), dbos.WithStepMaxRetries(retries), dbos.WithStepBaseInterval(time.Second))
	return err
}

// Buy is the workflow.
func Buy(ctx dbos.Context, o shop.Order) (result shop.Result, err error) {
	var undo []func() error
	defer func() {
		if err != nil || result.Outcome == "refused" {
			for _, u := range slices.Backward(undo) {
				err = errors.Join(err, u())
			}
		}
	}()
	undo = append(undo, func() error { return step(ctx, "release", shop.Release, o, 100) })
	if err := step(ctx, "reserve", shop.Reserve, o, 2); err != nil {
		return result, err
	}
	if o.Cents > 100_000 {
		if err := step(ctx, "ask", shop.Ask, o, 2); err != nil {
			return result, err
		}
		var d shop.Decision
		for day := 1; day <= 3; day++ {
			if d, err = dbos.Recv[shop.Decision](ctx, "approval", 24*time.Hour); !errors.Is(err, dbos.ErrTimeout) || day == 3 {
				break
			}
			if err := step(ctx, "remind", shop.Remind, o, 2); err != nil {
				return result, err
			}
		}
		if err != nil && !errors.Is(err, dbos.ErrTimeout) {
			return result, err
		}
		if !d.OK {
			return shop.Result{Outcome: "refused"}, nil
		}
	}
	undo = append(undo, func() error { return step(ctx, "refund", shop.Refund, o, 100) })
	result.Receipt, err = dbos.RunAsStep(ctx, func(ctx context.Context) (string, error) { return shop.Charge(ctx, o) },
		dbos.WithStepName("charge"), dbos.WithStepMaxRetries(2), dbos.WithStepBaseInterval(time.Second))
	if err != nil {
		return result, err
	}
	if err := step(ctx, "ship", shop.Ship, o, 2); err != nil {
		return result, err
	}
	result.Outcome = "shipped"
	return result, nil
}

func start(ctx dbos.Context, queue dbos.Queue, o shop.Order) error {
	_, err := dbos.RunWorkflow(ctx, Buy, o, dbos.WithWorkflowID(o.ID), dbos.WithQueue(queue), dbos.WithQueuePartitionKey(o.Customer))
	return err
}

func answer(ctx dbos.Context, order string, d shop.Decision) error {
	return dbos.Send(ctx, order, d, "approval")
}

func main() {
	ctx, err := dbos.NewContext(context.Background(), dbos.Config{DatabaseURL: os.Getenv("DBOS_SYSTEM_DATABASE_URL"), AppName: "orders"})
	if err != nil {
		log.Fatalln(err)
	}
	dbos.RegisterWorkflow(ctx, Buy)
	if _, err := dbos.RegisterQueue(ctx, "orders", dbos.WithPartitionQueue(), dbos.WithGlobalConcurrency(2)); err != nil {
		log.Fatalln(err)
	}
	if err := dbos.Launch(ctx); err != nil {
		log.Fatalln(err)
	}
	defer dbos.Shutdown(ctx, 10*time.Second)
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, os.Interrupt)
	<-stop
}
