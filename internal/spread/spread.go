package spread

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/stepwell/stepwell/world"
)

// Spreader spreads what is published in a world. It keeps nothing: any number may be at it, in any process.
type Spreader struct {
	Topics world.Publisher
	Queues world.Messenger
}

// Of returns the Spreader of a world.
func Of(w world.World) *Spreader { return &Spreader{Topics: w.Topics(), Queues: w.Messages()} }

// All spreads until nothing is due. It tells what it saw last: when the next is due, and the time of the store. What is
// encrypted with a key that is not here stays: it is among the publications that it tells of, those of the last look.
func (s *Spreader) All(ctx context.Context) (world.Due, error) {
	q := world.DueQuery{Limit: world.MaxBatch}
	for try := 0; ; try++ {
		due, err := s.Topics.Due(ctx, q)
		if err != nil {
			return due, err
		}
		p, _, err := s.decide(ctx, &due)
		if err != nil {
			return due, err
		}
		if p.empty() && due.More && due.Last != "" { // these go out elsewhere: those behind go out here
			q, try = world.DueQuery{After: due.Last, Limit: world.MaxBatch}, 0
			continue
		}
		if p.empty() { // who looks back waits for those who look on
			if back, err := s.lookBack(ctx, &due, try); !back || err != nil {
				return due, err
			}
			continue
		}
		if done, err := s.Topics.Spread(ctx, p.Spread); err != nil {
			return due, err
		} else if done {
			try, q.Limit = 0, min(2*len(p.Done)+10, world.MaxBatch) // where many subscribe, few go out at once
		} else if err := pause(ctx, try); err != nil {
			return due, err
		}
	}
}

// pause waits for somebody else who spreads.
func pause(ctx context.Context, try int) error {
	t := time.NewTimer(rand.N(min(time.Millisecond<<min(try, 6), 50*time.Millisecond)) + 1)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-t.C:
		return nil
	}
}

// empty reports whether there is nothing to write.
func (p *plan) empty() bool { return len(p.Done)+len(p.Aside) == 0 && !p.Cut.Open() && !p.leaves }

// decide says what becomes of what is due. A publication that no store would spread is set aside.
func (s *Spreader) decide(ctx context.Context, due *world.Due) (p *plan, all bool, err error) {
	p, all, err = decide(ctx, due, &listening{topics: s.Topics})
	if err != nil || world.CheckSpread(&p.Spread) == nil {
		return p, all, err
	}
	one := *due
	for i := range due.Publications { // which of them is it
		one.Publications = due.Publications[i : i+1]
		q, _, err := decide(ctx, &one, &listening{topics: s.Topics})
		if err != nil {
			return nil, false, err
		}
		if bad := world.CheckSpread(&q.Spread); bad != nil {
			id := due.Publications[i].ID
			p = &plan{Spread: world.Spread{Revision: due.Revision, Aside: []world.Aside{{ID: id, Error: bad.Error()}}}}
			p.left = slices.DeleteFunc(q.left, func(c world.Cut) bool { return c.ID == id })
			p.leave()
			return p, len(due.Publications) == 1 && !due.More, nil
		}
		if one.Cut.Open() { // it goes out before the others
			return q, false, nil
		}
	}
	return nil, false, world.CheckSpread(&p.Spread)
}

// Subscribe makes a subscription, or says anew what holds for the one with its name. What was published before goes to
// those that stood before, but for what is encrypted with a key that is not here: that goes to those that stand when
// somebody has its key. The error is [world.ErrNotFound] where it names a queue that was not declared, and
// [world.ErrConflict] where one with a higher revision stands, or one with a queue of its own, and this has none: what
// is in that would come to nobody.
func (s *Spreader) Subscribe(ctx context.Context, sub world.Subscription) error {
	if err := world.CheckSubscription(&sub); err != nil {
		return err
	}
	return s.change(ctx, func(all []world.Subscription, w *world.Spread) (bool, error) {
		i, found := find(all, sub.Name)
		if found {
			sub.Follow(&all[i])
		}
		switch {
		case !found && len(all) >= world.MaxSubscriptions:
			return false, fmt.Errorf("%w: subscription %s: there are %d, and can be no more", world.ErrInvalid, sub.Name, len(all))
		case found && all[i].Revision > sub.Revision:
			return false, fmt.Errorf("subscription %s: %w: revision %d stands, and this is %d", sub.Name, world.ErrConflict, all[i].Revision, sub.Revision)
		case found && all[i].Queue == "" && sub.Queue != "":
			return false, fmt.Errorf("subscription %s: %w: it has a queue of its own: end it before it gets another", sub.Name, world.ErrConflict)
		case found:
			same := all[i]
			if same.Made = sub.Made; reflect.DeepEqual(same, sub) {
				return false, nil
			}
		}
		w.Subscribe = &sub
		return true, nil
	})
}

// Unsubscribe ends a subscription, once it has what was published before, and deletes what nobody has handled of its
// own queue. The error is [world.ErrNotFound] where there is none.
func (s *Spreader) Unsubscribe(ctx context.Context, name string) error {
	err := s.change(ctx, func(all []world.Subscription, w *world.Spread) (bool, error) {
		if _, found := find(all, name); !found {
			return false, fmt.Errorf("subscription %.140q: %w", name, world.ErrNotFound)
		}
		w.Unsubscribe = name
		return true, nil
	})
	if err != nil && !errors.Is(err, world.ErrNotFound) {
		return err
	}
	// Where a process died in between its queue is there yet.
	own := world.SubscriptionQueue + name
	if world.CheckQueueName(own) != nil {
		return err
	}
	for more := true; more; {
		var purged error
		if _, more, purged = s.Queues.PurgeMessages(ctx, own, false); errors.Is(purged, world.ErrNotFound) {
			return err
		} else if purged != nil {
			return purged
		}
	}
	return s.Queues.DropQueue(ctx, own)
}

func find(all []world.Subscription, name string) (int, bool) {
	return slices.BinarySearchFunc(all, name, func(s world.Subscription, name string) int { return strings.Compare(s.Name, name) })
}

// change changes subscriptions together with the last of what was due until then. decide says what is to change, or
// that nothing is.
func (s *Spreader) change(ctx context.Context, decide func(all []world.Subscription, w *world.Spread) (bool, error)) error {
	q := world.DueQuery{Limit: world.MaxBatch}
	for try := 0; ; try++ {
		due, err := s.Topics.Due(ctx, q)
		if err != nil {
			return err
		}
		p, all, err := s.decide(ctx, &due)
		if err != nil {
			return err
		}
		var change world.Spread
		if needed, err := decide(due.Subscriptions, &change); err != nil || !needed {
			return err
		}
		switch {
		case all:
			p.Subscribe, p.Unsubscribe = change.Subscribe, change.Unsubscribe
		case p.empty(): // these wait for somebody who has their keys: what is behind them is what was due until then
			q.After, try = due.Last, 0
			continue
		}
		done, err := s.Topics.Spread(ctx, p.Spread)
		if err != nil || done && all {
			return err
		}
		if done {
			try = 0
		} else if err := pause(ctx, try); err != nil {
			return err
		}
	}
}

// Next is for how long there is nothing to spread, where nobody tells of news: most at most.
func Next(due *world.Due, most time.Duration) time.Duration {
	if due.Next.IsZero() {
		return most
	}
	return min(most, max(due.Next.Sub(due.Now), time.Millisecond))
}
