package queue

// This file waits for messages.

import (
	"context"
	"time"

	"github.com/stepwell/stepwell/internal/courier"
	"github.com/stepwell/stepwell/world"
)

// Await receives from a store. If no message is ready, it waits for up to wait. Servers call it;
// programs call [Queue.Receive].
func Await(ctx context.Context, keep world.Messenger, by world.Notifier, q world.ReceiveQuery, wait time.Duration) (world.Received, error) {
	news := courier.NewNews(by, q.Queue)
	defer news.Stop()
	end := time.NewTimer(wait)
	defer end.Stop()
	for {
		got, err := keep.ReceiveMessages(ctx, q)
		if err != nil || len(got.Messages) > 0 || wait <= 0 {
			return got, err
		}
		again := time.NewTimer(got.Wait(courier.LookAgain))
		select {
		case <-news.Came:
		case <-again.C:
		case <-end.C:
			again.Stop()
			return got, nil
		case <-ctx.Done():
			again.Stop()
			return got, context.Cause(ctx)
		}
		again.Stop()
	}
}
