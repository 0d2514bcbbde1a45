package world

import (
	"context"
	"errors"
	"time"
)

// TopicKeeper is a [World] that keeps topics and subscriptions.
type TopicKeeper interface{ Topics() Publisher }

// Publisher keeps what was published and the subscriptions to it.
//
// What is published is a row, and nothing else. It is spread a moment later, by whoever has the time: that looks at what
// is due, decides who gets it, and writes all of that in one transaction, in which nobody else spreads. So each
// subscription that stands when a publication is spread gets it once, whatever dies.
//
// All methods are safe for concurrent use, and durable when they return.
type Publisher interface {
	// Publish writes publications, all or none. One whose Dedupe its topic has had is the one that was.
	Publish(ctx context.Context, all []Publication) ([]Sent, error)

	// Subscribe makes a subscription, or says anew what holds for the one with its name, and makes its own queue where
	// it has one. The error is [ErrNotFound] where it names a queue that was not declared, and [ErrConflict] where one
	// with a higher revision stands.
	Subscribe(ctx context.Context, s Subscription) error

	// Unsubscribe ends a subscription. What is in its own queue is deleted with that. The error is [ErrNotFound] where
	// there is none, and [ErrUnspread] where something is due that it may have to get: spread that first.
	Unsubscribe(ctx context.Context, name string) error

	// Subscriptions tells of subscriptions by name, in order; none named: of all.
	Subscriptions(ctx context.Context, names ...string) ([]Subscription, error)

	// Due tells what is to be spread next, limit publications at most (1 to [MaxBatch]), in the order in which they
	// were written, those with a delay by their time.
	Due(ctx context.Context, limit int) (Due, error)

	// Spread writes what was decided of what is due. The error is [ErrConflict] where somebody else spreads, has spread
	// it, or the subscriptions have changed: nothing was written, look anew.
	Spread(ctx context.Context, s Spread) error

	// Publications are pages of what was published, the newest first.
	Publications(ctx context.Context, q PublicationQuery) (PublicationPage, error)
}

// ErrUnspread: something is due that was not spread yet.
var ErrUnspread = errors.New("what is due was not spread yet")

// Due is what is to be spread.
type Due struct {
	Publications  []Publication
	Cut           *Cut           // how far the first of them has gone out already; nil: not begun
	Subscriptions []Subscription // all that stand
	Revision      int64          // of all subscriptions: grows with each change
	Next          time.Time      // when the next publication is due that is not yet; zero: none is to come
	Now           time.Time      // of the store
}

// Spread is what becomes of publications that are due: at most [MaxBatch] messages and mails, and [MaxCommit] bytes.
type Spread struct {
	Revision int64      // Due's
	Done     []string   // IDs of publications that have gone to all
	Aside    []Aside    // those that are set aside, as they cannot be spread
	Messages []Message  // for queues. A queue that is gone gets nothing
	Mail     []Delivery // for waits that listen; a run that is over, or whose inbox is full, gets nothing
	Cut      *Cut       // of a publication that is not done yet: how far it is
}

// Aside is a publication that goes to nobody, and why.
type Aside struct{ ID, Error string }

// Cut is how far a publication has gone out: the subscriptions up to Subscription, by name, and where these are all done,
// the waits up to Wait. Empty: not begun.
type Cut struct {
	ID           string
	Subscription string
	Waits        bool   // the subscriptions are done
	Wait         string // the last one that has it
}

// PublicationQuery says what was published is to be shown.
type PublicationQuery struct {
	Topic  string // a pattern; "": all
	ID     string // this one alone
	Cursor string
	Limit  int // 1 to 1,000; 0: 100
}

// PublicationPage is a page of publications; Cursor is "" where there are no more.
type PublicationPage struct {
	Publications []Publication
	Cursor       string
}
