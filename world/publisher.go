package world

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// TopicKeeper is a [World] that keeps topics and subscriptions.
type TopicKeeper interface{ Topics() Publisher }

// Publisher keeps what was published and the subscriptions to it.
//
// What is published is a row, and nothing else. It is spread a moment later, by whoever has the time: that looks at
// what is due, decides who gets it, and writes all of that in one transaction, in which nobody else spreads. So each
// subscription that stands when a publication is spread gets it once, whatever dies. Subscriptions change in such a
// transaction too, with what was due until then: so what was published before goes to those that stood before.
//
// Package internal/spread decides, and is how subscriptions are made and ended.
//
// All methods are safe for concurrent use, and durable when they return.
type Publisher interface {
	// Publish writes publications, all or none. One whose Dedupe its topic has had is the one that was.
	Publish(ctx context.Context, all []Publication) ([]Sent, error)

	// Subscriptions tells of subscriptions by name, in order; none named: of all.
	Subscriptions(ctx context.Context, names ...string) ([]Subscription, error)

	// Due tells what is to be spread next, about [PageBytes] at most: the one that is cut first, then others in the
	// order in which they were written, then those with a delay by their time.
	Due(ctx context.Context, q DueQuery) (Due, error)

	// Spread writes what was decided of what is due, and tells whether it did. It did not where somebody else spreads,
	// has spread of it, or has changed the subscriptions: nothing was written, look anew. The error is [ErrNotFound]
	// where a subscription names a queue that was not declared.
	Spread(ctx context.Context, s Spread) (bool, error)

	// Shapes are those of all waits that listen. The hashes of those with a key are made by who has it.
	Shapes(ctx context.Context) ([]Shape, error)

	// Listeners are pages of waits that listen, in an order that stays.
	Listeners(ctx context.Context, q ListenerQuery) ([]Listener, error)

	// Publications are pages of what was published, the newest first.
	Publications(ctx context.Context, q PublicationQuery) (PublicationPage, error)
}

// DueQuery says what of that which is due is to be told.
type DueQuery struct {
	After string // the place behind which it begins, as Due.Last told it; "": at the first
	Limit int    // 1 to MaxBatch
}

// Due is what is to be spread.
type Due struct {
	Publications  []Publication
	More          bool           // others are due behind these
	Last          string         // the place of the last one; "": there is none, but perhaps one that is cut
	Cut           *Cut           // how far the first of them has gone out already, where it is open; nil: none is cut
	Subscriptions []Subscription // all that stand, by name; they are the store's own: not to be changed
	Revision      int64          // of the subscriptions and of the cut: grows with each change
	Next          time.Time      // when the next publication is due that is not yet; zero: none is to come
	Now           time.Time      // of the store
}

// Spread is what becomes of publications that are due: at most [MaxBatch] messages and mails, and [MaxCommit] bytes.
// Where one is cut that goes on: it is done, set aside, cut anew, or left. Those that are left stay so in each spread
// that does not go on with them.
type Spread struct {
	Revision int64      // Due's
	Done     []string   // IDs of publications that have gone to all
	Aside    []Aside    // those that are set aside, as they cannot be spread
	Messages []Message  // for queues. A queue that is gone gets nothing
	Mail     []Delivery // for waits that listen; a run that is over, or whose inbox is full, gets nothing
	Cut      *Cut       // of publications that are not done yet: how far they are
	Looked   []string   // places of waits that have looked back now

	// Subscribe is made, with its own queue where it has one, or takes the place of the one with its name.
	Subscribe *Subscription
	// Unsubscribe is the name of one that ends. Its own queue stays.
	Unsubscribe string
}

// Aside is a publication that goes to nobody, and why.
type Aside struct{ ID, Error string }

// Cut is how far a publication has gone out: the subscriptions up to Subscription, by name, and where these are all
// done, the waits up to Wait. Empty: not begun. It goes on before all others, unless its key is not there: then it is
// left, and others go out.
type Cut struct {
	ID           string `json:"id"`
	Subscription string `json:"subscription,omitempty"`
	Waits        bool   `json:"waits,omitempty"` // the subscriptions are done
	Wait         string `json:"wait,omitempty"`  // the last one that has it
	Left         []Cut  `json:"left,omitempty"`  // they go on when somebody has their keys; no ID: these alone
}

// Open reports whether a publication is cut that goes on before all others.
func (c *Cut) Open() bool { return c != nil && c.ID != "" }

// Others are those alone that are left; nil: none.
func (c *Cut) Others() *Cut {
	if c == nil || len(c.Left) == 0 {
		return nil
	}
	return &Cut{Left: c.Left}
}

// PublicationQuery says what was published is to be shown.
type PublicationQuery struct {
	Topic  string    // a pattern; "": all
	Any    []string  // those alone that one of these patterns fits; none: all
	Since  time.Time // not what was published before; zero: that too
	ID     string    // this one alone
	Cursor string
	Limit  int // 1 to 1,000; 0: 100
}

// All reports whether a query asks for all topics.
func (q *PublicationQuery) All() bool { return q.Topic == "" && len(q.Any) == 0 }

// Fits reports whether a query asks for a topic.
func (q *PublicationQuery) Fits(topic string) bool {
	return (q.Topic == "" || Fits(q.Topic, topic)) &&
		(len(q.Any) == 0 || slices.ContainsFunc(q.Any, func(pattern string) bool { return Fits(pattern, topic) }))
}

// PublicationPage is a page of publications; Cursor is "" where there are no more.
type PublicationPage struct {
	Publications []Publication
	Cursor       string
}

// CheckSpread refuses, with [ErrInvalid] or [ErrTooLarge], what no store spreads, and cuts errors.
func CheckSpread(s *Spread) error {
	seen := make(map[string]bool, len(s.Done)+len(s.Aside)+1)
	once := func(id string) error {
		if _, ok := PublicationNumber(id); !ok || seen[id] {
			return fmt.Errorf("%w: spread: %.60q is not a publication, or is there twice", ErrInvalid, id)
		}
		seen[id] = true
		return nil
	}
	for _, id := range s.Done {
		if err := once(id); err != nil {
			return err
		}
	}
	for i := range s.Aside {
		a := &s.Aside[i]
		if err := once(a.ID); err != nil {
			return err
		}
		if a.Error = keptError(a.Error); a.Error == "" {
			return fmt.Errorf("%w: spread: publication %s is set aside: say why", ErrInvalid, a.ID)
		}
	}
	if s.Cut != nil {
		if len(s.Cut.Left) > MaxBatch {
			return fmt.Errorf("%w: spread: %d publications are left: want at most %d", ErrInvalid, len(s.Cut.Left), MaxBatch)
		}
		for _, c := range append(s.Cut.Left[:len(s.Cut.Left):len(s.Cut.Left)], *s.Cut) {
			if c.ID == "" && len(s.Cut.Left) > 0 {
				continue
			}
			if err := once(c.ID); err != nil {
				return err
			}
		}
	}
	if n := len(s.Messages) + len(s.Mail); len(seen) > MaxBatch || n > MaxBatch {
		return fmt.Errorf("%w: spread: %d publications to %d: want at most %d", ErrInvalid, len(seen), n, MaxBatch)
	}
	if len(s.Messages) > 0 {
		if err := CheckMessages(s.Messages); err != nil {
			return err
		}
	}
	for i := range s.Mail {
		if d := &s.Mail[i]; d.Act || d.Task != nil || d.Repeat {
			return fmt.Errorf("%w: spread: delivery %d is not one to an inbox", ErrInvalid, i)
		} else if err := CheckDelivery(d); err != nil {
			return err
		} else if d.Run == "" || d.Events[0].Type != SignalReceived {
			return fmt.Errorf("%w: spread: delivery %d is not a signal for a run", ErrInvalid, i)
		}
	}
	if s.Subscribe != nil {
		return CheckSubscription(s.Subscribe)
	}
	return nil
}

// Check refuses, with [ErrInvalid], a query for what there is not. It tells behind what it begins: when that one is
// due, in microseconds since 1970, 0 at once, and its number.
func (q *DueQuery) Check() (due, number int64, err error) {
	if q.Limit < 1 || q.Limit > MaxBatch {
		return 0, 0, fmt.Errorf("%w: look at %d publications: want 1 to %d", ErrInvalid, q.Limit, MaxBatch)
	}
	if q.After == "" {
		return 0, 0, nil
	}
	at, text, ok := strings.Cut(q.After, "/")
	due, err = strconv.ParseInt(at, 10, 64)
	if err == nil {
		number, err = strconv.ParseInt(text, 10, 64)
	}
	if err != nil || !ok || due < 0 {
		return 0, 0, fmt.Errorf("%w: %.80q is not a position in the list of publications", ErrInvalid, q.After)
	}
	return due, number, nil
}

// DuePlace is the place of a publication among those that are due: see [DueQuery.Check].
func DuePlace(due, number int64) string {
	return strconv.FormatInt(due, 10) + "/" + strconv.FormatInt(number, 10)
}

// Check refuses, with [ErrInvalid], a query for what there is not, and fills in the limit. It returns the number before
// which the page begins; 0: at the newest.
func (q *PublicationQuery) Check() (before int64, err error) {
	if q.Limit == 0 {
		q.Limit = 100
	}
	if q.Limit < 1 || q.Limit > 1_000 {
		return 0, fmt.Errorf("%w: look at %d publications: want 1 to 1000", ErrInvalid, q.Limit)
	}
	if q.Topic != "" {
		if err := CheckPattern(q.Topic); err != nil {
			return 0, err
		}
	}
	if len(q.Any) > MaxBatch {
		return 0, fmt.Errorf("%w: look at publications of %d patterns: want at most %d", ErrInvalid, len(q.Any), MaxBatch)
	}
	for _, pattern := range q.Any {
		if err := CheckPattern(pattern); err != nil {
			return 0, err
		}
	}
	for what, id := range map[string]string{"publication ID": q.ID, "cursor": q.Cursor} {
		if _, ok := PublicationNumber(id); id != "" && !ok {
			return 0, fmt.Errorf("%w: %s %.60q: want one that was told", ErrInvalid, what, id)
		}
	}
	before, _ = PublicationNumber(q.Cursor)
	return before, nil
}
