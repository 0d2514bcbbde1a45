package courier

// This file is what one program does for topics: it spreads what is due, and has the queues of subscriptions worked on.

import (
	"cmp"
	"context"
	"log/slog"
	"math/rand/v2"
	"reflect"
	"sync"
	"time"

	"github.com/stepwell/stepwell/internal/spread"
	"github.com/stepwell/stepwell/world"
)

// Courier works for the topics of a database while a program runs. Any number may, in any process.
type Courier struct {
	Spread   *spread.Spreader
	Notifier world.Notifier
	Log      *slog.Logger
	Drain    time.Duration
	Poll     time.Duration // between looks for what nobody told of; 0: a minute where there are news, and 5 s where not
	// Work says what is done here with the messages of a subscription's own queue; nil: nothing. It is asked again where
	// the subscription is changed.
	Work func(s *world.Subscription) *Work
}

// Work is what is done with the messages of one subscription. See [Consumer].
type Work struct {
	Parallel int
	Do       func(ctx context.Context, m *world.Message) world.Settlement
	Room     func(most int) (n int, wait time.Duration) // nil: there is no limit
	End      func()                                     // nothing is worked on any more; nil: nobody need know
}

// idle is how often a courier looks besides notices.
const idle = time.Minute

// hand is one subscription that is worked on.
type hand struct {
	of   world.Subscription
	stop context.CancelFunc
}

// Run works until ctx ends, and returns when nothing is worked on any more.
func (c *Courier) Run(ctx context.Context) {
	news := NewsOf(c.Notifier, func(n world.Notice) bool { return n.Kind == world.NoticeTopic })
	defer news.Stop()
	hands := map[string]*hand{}
	var all sync.WaitGroup
	defer all.Wait()
	look := cmp.Or(c.Poll, idle)
	known := int64(-1)
	var said time.Time
	for failed := 0; ctx.Err() == nil; {
		due, err := c.Spread.All(ctx)
		wait := spread.Next(&due, look-rand.N(look/8))
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			if failed++; failed == 1 {
				c.Log.Warn("publications could not be delivered", "error", err, "hint", "It is tried again")
			}
			if !rest(ctx, min(pause<<min(failed-1, 5), 30*time.Second)) {
				return
			}
			continue
		case due.Revision != known:
			c.staff(ctx, hands, due.Subscriptions, &all, look)
			known = due.Revision
		}
		failed = 0
		if dark := unread(&due); dark != "" && time.Since(said) > sayAgain {
			said = time.Now()
			c.Log.Warn("what was published is encrypted with keys that are not here, and nobody spreads it", "publication", dark, "hint", "Start a worker that has the keys; nothing else waits for it")
		}
		again := time.NewTimer(wait)
		select {
		case <-news.Came:
		case <-again.C:
		case <-ctx.Done():
		}
		again.Stop()
	}
}

// What cannot be read here is somebody else's to spread, who may have the keys: after so long nobody has. It is said
// each so often.
const (
	darkTime = time.Minute
	sayAgain = 10 * time.Minute
)

// unread is the first publication that has been due for long when all was spread that could be; "": there is none.
func unread(due *world.Due) string {
	for i := range due.Publications {
		if p := &due.Publications[i]; due.Now.Sub(p.Due) > darkTime {
			return p.ID
		}
	}
	return ""
}

// staff has each subscription worked on that is to be, as it is now, and no other.
func (c *Courier) staff(ctx context.Context, hands map[string]*hand, subscriptions []world.Subscription, all *sync.WaitGroup, look time.Duration) {
	stand := make(map[string]*world.Subscription, len(subscriptions))
	for i := range subscriptions {
		if s := &subscriptions[i]; s.Queue == "" {
			stand[s.Name] = s
		}
	}
	for name, h := range hands {
		if s := stand[name]; s == nil || !reflect.DeepEqual(*s, h.of) {
			h.stop()
			delete(hands, name)
		}
	}
	for name, s := range stand {
		if hands[name] != nil {
			continue
		}
		w := c.Work(s)
		if w == nil {
			continue
		}
		own, stop := context.WithCancel(ctx)
		hands[name] = &hand{*s, stop}
		consumer := &Consumer{
			Queue: s.OwnQueue(), Visibility: world.DefaultVisibility, Keep: c.Spread.Queues, Notifier: c.Notifier, Log: c.Log.With("subscription", name), Drain: c.Drain,
			Parallel: cmp.Or(w.Parallel, 8), Work: w.Do, Room: w.Room, Idle: look, hints: "stepwell topics show " + name,
			// It is made with its subscription; where that ended, this is stopped soon.
			Declare: func(context.Context, bool) error { return nil },
		}
		all.Go(func() {
			defer stop()
			consumer.Run(own)
			if w.End != nil {
				w.End()
			}
		})
	}
}
