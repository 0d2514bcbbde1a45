package queue

// This file waits for messages.

import (
	"context"
	"time"

	"github.com/stepwell/stepwell/world"
)

// lookAgain is how often one who waits for messages looks where nobody told of any.
const lookAgain = 5 * time.Second

// Await receives from a store, and waits so long for a message where there is none. Servers call it; programs
// call [Queue.Receive].
func Await(ctx context.Context, keep world.Messenger, by world.Notifier, q world.ReceiveQuery, wait time.Duration) (world.Received, error) {
	if keep == nil {
		return world.Received{}, errNoQueues
	}
	news := newNews(by, q.Queue)
	defer news.stop()
	end := time.NewTimer(wait)
	defer end.Stop()
	for {
		got, err := keep.ReceiveMessages(ctx, q)
		if err != nil || len(got.Messages) > 0 || wait <= 0 {
			return got, err
		}
		again := time.NewTimer(got.Wait(lookAgain))
		select {
		case <-news.came:
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

// news tells that something may have come to a queue.
type news struct {
	came chan struct{} // capacity 1
	stop func()
}

func newNews(by world.Notifier, queue string) *news {
	n := &news{came: make(chan struct{}, 1), stop: func() {}}
	if by != nil {
		n.stop = by.Notify(func(x world.Notice) {
			if x.Kind == world.NoticeMessage && (x.Run == queue || x.Run == "") {
				select {
				case n.came <- struct{}{}:
				default:
				}
			}
		})
	}
	return n
}
