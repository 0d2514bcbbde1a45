package postgres

// Limits of queues. What becomes of a message's places is decided by triggers, see schema.sql; who
// receives and finds less than it may take lets in who is next, as a look for work does.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/stepwell/stepwell/world"
)

var limitDue = load("limit_due")

// mostServed is how many pages of news a receive admits by.
const mostServed = 20

// serve lets in who waits for a place, by all news that there is. It reports whether anybody may have come, and when
// there is more; zero: nobody knows.
func (l *limits) serve(ctx context.Context) (changed bool, next time.Time, err error) {
	var look looked
	for range mostServed {
		look = looked{}
		if err := l.read(ctx, limitDue, func(row pgx.Rows) error {
			var due *time.Time
			err := row.Scan(&look.limits, &due, &look.now)
			look.rates = at(due)
			return err
		}); err != nil {
			return changed, next, err
		}
		more, err := l.follow(ctx, &look)
		if err != nil || !more {
			return changed, look.rates, err
		}
		changed = true
	}
	return changed, look.now.Add(untaken), nil
}

// receiveLimited goes on with a receive that has got less than it may take from a queue with limits: who is let in
// meanwhile is received too.
func receiveLimited(ctx context.Context, k *messaging, q world.ReceiveQuery, out *world.Received) error {
	for range mostServed {
		changed, next, err := k.limits.serve(ctx)
		if err != nil {
			return err
		}
		if !changed {
			if !next.IsZero() && (out.Next.IsZero() || next.Before(out.Next)) {
				out.Next = next.UTC()
			}
			return nil
		}
		rest := q
		rest.Limit -= len(out.Messages)
		more, err := receiveNow(ctx, k, rest)
		more.Messages, more.Dead = slices.Concat(out.Messages, more.Messages), more.Dead+out.Dead
		if *out = more; err != nil || len(out.Messages) >= q.Limit {
			return err
		}
	}
	return nil
}

// declareLimits notes the limits of a queue that is declared, and tells what is kept with it; nil: what is kept stays.
func declareLimits(ctx context.Context, db *database, q *world.MessageQueue) (text *string, err error) {
	if q.Limits == nil {
		return nil, nil
	}
	if err := sayLimits(ctx, db, q.Says()); err != nil {
		return nil, fmt.Errorf("queue %s: %w", q.Name, err)
	}
	b, err := json.Marshal(q.Limits)
	if err != nil {
		return nil, err
	}
	t := string(b)
	return &t, nil
}

// refusedKey is the error for messages that say no key of a limit of their queue.
func refusedKey(err error) error {
	if e, ok := errors.AsType[*pgconn.PgError](err); ok && e.Code == codeParameter {
		return fmt.Errorf("%w: %s", world.ErrInvalid, e.Message)
	}
	return err
}

// keysText are the keys of limits that a message says; nil: none. One that stands and may not be refused has one for
// each limit.
func keysText(keys map[string]string, stands bool) *string {
	if stands {
		keys = world.KeysElsewhere(keys)
	}
	if len(keys) == 0 {
		return nil
	}
	b, _ := json.Marshal(keys) // of texts: it does not fail
	t := string(b)
	return &t
}
