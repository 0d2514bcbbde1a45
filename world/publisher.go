package world

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Publisher keeps publications and subscriptions.
//
// To publish only writes a row. Spreading delivers it shortly afterwards, by any process that has
// time: it reads due publications, decides who gets them, and writes that in one transaction. Only
// one process spreads at a time. So each subscription that exists when a publication is spread gets
// it exactly once, whatever crashes. Subscriptions change in such a transaction too, which first
// spreads what was due. So earlier publications go to the earlier subscriptions.
//
// Package internal/spread makes the decisions, and creates and ends subscriptions.
//
// All methods are safe for concurrent use. Changes are durable when they return.
type Publisher interface {
	// Publish writes publications, all or none. One with a known Dedupe of its topic is the earlier
	// one.
	Publish(ctx context.Context, all []Publication) ([]Sent, error)

	// Subscriptions returns the named subscriptions, by name; without names, all.
	Subscriptions(ctx context.Context, names ...string) ([]Subscription, error)

	// Due returns what to spread next, about [PageBytes] at most: first the publication with a Cut,
	// then others in the order of their writing, then delayed ones by time.
	Due(ctx context.Context, q DueQuery) (Due, error)

	// Spread writes decisions about due publications. It returns false, and writes nothing, if
	// another process spreads, has spread some of them, or has changed the subscriptions: call Due
	// again. The error is [ErrNotFound] if a subscription names an undeclared queue.
	Spread(ctx context.Context, s Spread) (bool, error)

	// Shapes returns the shapes of all waits that receive publications.
	Shapes(ctx context.Context) ([]Shape, error)

	// Listeners returns a page of waits that receive publications, in a stable order.
	Listeners(ctx context.Context, q ListenerQuery) ([]Listener, error)

	// Publications returns a page of publications, newest first.
	Publications(ctx context.Context, q PublicationQuery) (PublicationPage, error)
}

// DueQuery says which due publications to return.
type DueQuery struct {
	After string // After is the place after which to begin, from Due.Last; "": at the first.
	Limit int    // 1 to MaxBatch
}

// Due is what to spread next.
type Due struct {
	Publications []Publication
	More         bool   // others are due after these
	Last         string // place of the last one; "": none, except possibly one with a Cut
	Cut          *Cut   // how far the first one was spread already, if it is open; nil: none
	// Subscriptions: all subscriptions, by name, owned by the store: do not change them.
	Subscriptions []Subscription
	Revision      int64     // of the subscriptions and the cut; grows with each change
	Next          time.Time // when the next later publication is due; zero: none to come
	Now           time.Time // time of the store
}

// Spread is a decision about due publications: at most [MaxBatch] messages and mails, and
// [MaxCommit] bytes. A publication with a Cut must be done, set aside, cut again, or left. Those
// that are left stay so in each Spread that does not continue them.
type Spread struct {
	Revision int64      // Due.Revision
	Done     []string   // IDs of publications that all receivers have
	Aside    []Aside    // publications that cannot be delivered
	Messages []Message  // for queues; a deleted queue gets nothing
	Mail     []Delivery // for waits; a run that is over, or whose inbox is full, gets nothing
	Cut      *Cut       // how far unfinished publications are
	Looked   []string   // places of waits that have looked back now

	// Subscribe creates a subscription, with its own queue if it has one, or replaces the one with
	// its name.
	Subscribe *Subscription
	// Unsubscribe is the name of a subscription that ends. Its own queue stays.
	Unsubscribe string
}

// Aside is a publication that nobody gets, and why.
type Aside struct{ ID, Error string }

// Cut is how far a publication was spread: to the subscriptions up to Subscription, by name, and
// once these are done, to the waits up to Wait. Empty: not begun. It continues before all others.
// If its key is missing it is left, and others are spread.
type Cut struct {
	ID           string `json:"id"`
	Subscription string `json:"subscription,omitempty"`
	Waits        bool   `json:"waits,omitempty"` // the subscriptions are done
	Wait         string `json:"wait,omitempty"`  // the last wait that has it
	// Left: others that continue once a process has their keys; with no ID: only these.
	Left []Cut `json:"left,omitempty"`
}

// Open reports whether a publication continues before all others.
func (c *Cut) Open() bool { return c != nil && c.ID != "" }

// Others returns a Cut with only those in Left; nil: none.
func (c *Cut) Others() *Cut {
	if c == nil || len(c.Left) == 0 {
		return nil
	}
	return &Cut{Left: c.Left}
}

// PublicationQuery selects publications.
type PublicationQuery struct {
	Topic  string    // a pattern; "": all
	Any    []string  // only topics that match one of these patterns; none: all
	Since  time.Time // only publications from then on; zero: all
	ID     string    // only this one
	Cursor string
	Limit  int // 1 to 1,000; 0: 100
}

// All reports whether the query selects all topics.
func (q *PublicationQuery) All() bool { return q.Topic == "" && len(q.Any) == 0 }

// Fits reports whether the query selects a topic.
func (q *PublicationQuery) Fits(topic string) bool {
	return (q.Topic == "" || Fits(q.Topic, topic)) &&
		(len(q.Any) == 0 || slices.ContainsFunc(q.Any, func(pattern string) bool { return Fits(pattern, topic) }))
}

// PublicationPage is a page of publications. Cursor is "" on the last page.
type PublicationPage struct {
	Publications []Publication
	Cursor       string
}

// CheckSpread returns [ErrInvalid] or [ErrTooLarge] for an invalid Spread, and shortens long
// errors.
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

// Check returns [ErrInvalid] for an invalid query. Otherwise it returns where the query begins:
// after the publication due at due, in microseconds since 1970 (0: at once), with that number.
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

// DuePlace returns the place of a due publication: see [DueQuery.Check].
func DuePlace(due, number int64) string {
	return strconv.FormatInt(due, 10) + "/" + strconv.FormatInt(number, 10)
}

// Check returns [ErrInvalid] for an invalid query, and sets the default limit. It returns the
// number before which the page begins; 0: at the newest.
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
