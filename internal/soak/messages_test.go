//go:build unix

package soak

// This file is the application of the third proof: parcels that are published and sent, and all that comes of them.

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"sync/atomic"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/queue"
	"github.com/stepwell/stepwell/topic"
	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/postgres"
)

// parcel is what is published and sent.
type parcel struct {
	N   int    `json:"n"`
	How string `json:"how"` // who published it; or what came of it, as its run tells
}

// source is who publishes a parcel: each one's numbers ascend.
func source(n int) string { return fmt.Sprint("source-", n%sources) }

const sources = 4

// Some handlers fail when they see a parcel for the first time.
func (p *parcel) stumbles() bool { return p.N%7 == 3 }

// Some parcels are refused for good: they are dead letters.
func (p *parcel) bad() bool { return p.N%11 == 5 }

// With some comes another publication, which is no parcel: a dead letter wherever it comes to.
func (p *parcel) wrong() (text string, ok bool) { return fmt.Sprint("no parcel ", p.N), p.N%13 == 7 }

// The topics and the queues. What was received by a process that is killed is soon received by another.
var (
	made = topic.Of[parcel]("parcel.made")
	odd  = topic.Of[string]("parcel.made")
	paid = topic.Of[parcel]("parcel.paid")

	visible = queue.Visibility(2 * time.Second)
	often   = queue.MaxReceives(world.MaxReceives)
	seen    = queue.Define[parcel]("seen", visible, often)   // all that is made
	lined   = queue.Define[parcel]("lined", visible, often)  // the same, in order
	work    = queue.Define[parcel]("work", visible, often)   // each starts a run
	booked  = queue.Define[parcel]("booked", visible, often) // all that is made, where there are transactions
	echoes  = queue.Define[parcel]("echoes", visible, often) // what runs send
)

// shipped is the queue of the subscription that starts runs.
const shipped = world.SubscriptionQueue + "ship"

var (
	// packFlow is started by what is sent.
	packFlow = stepwell.Define("pack", func(ctx stepwell.Context, p parcel) (int, error) {
		if err := echoes.SendFrom(ctx, parcel{p.N, "packing"}, queue.Group(fmt.Sprint(p.N))); err != nil {
			return 0, err
		}
		if err := stepwell.Do(ctx, "pack", func(ctx context.Context) error { return dawdle(ctx, rand.IntN(30)) }, persistent); err != nil {
			return 0, err
		}
		return p.N, echoes.SendFrom(ctx, parcel{p.N, "packed"}, queue.Group(fmt.Sprint(p.N)))
	})
	// shipFlow is started by what is published.
	shipFlow = stepwell.Define("ship", func(ctx stepwell.Context, p parcel) (int, error) {
		return p.N, echoes.SendFrom(ctx, parcel{p.N, "shipped"})
	})
	// awaitFlow waits for what is published.
	awaitFlow = stepwell.Define("await", func(ctx stepwell.Context, n int) (int, error) {
		got, ok, err := stepwell.Event[parcel](paid.Name()).Wait(ctx, stepwell.Match{"n": n}, stepwell.Since(time.Hour), stepwell.Timeout(patience))
		if err == nil && !ok {
			err = errors.New("nothing came")
		}
		return got.N, err
	})
)

// post is what a worker process has of the application.
func post(n *notes, book bool) []stepwell.Definition {
	again, only := queue.Retry(persistent), topic.Where(stepwell.Match{"how": "made"})
	all := []stepwell.Definition{
		packFlow, shipFlow, awaitFlow,
		topic.ToQueue("seen", "parcel.made", seen), topic.ToQueue("lined", "parcel.#", lined, topic.Ordered(), only),
		seen.Handle(handle(n, seen, true), again), lined.Handle(handle(n, lined, true), again), echoes.Handle(handle(n, echoes, false), again),
		queue.StartsWorkflow(work, packFlow, nil, again),
	}
	if book {
		all = append(all, topic.ToQueue("booked", "parcel.*", booked, only), booked.Handle(enter, again, queue.Transactional()))
	}
	return all
}

// enter books a parcel in the transaction that ends its message.
func enter(ctx context.Context, m *queue.Message[parcel]) error {
	_, err := postgres.TxFrom(ctx).Exec(ctx, "insert into ledger.moves (transfer, kind, account, amount) values ($1, 'booked', 0, 0)", m.Payload.N)
	if err == nil && m.Payload.stumbles() && m.Receives == 1 {
		err = errStumble // after it has written
	}
	return errors.Join(err, dawdle(ctx, rand.IntN(20)))
}

var errBad = errors.New("it is bad")

// handle writes down what comes, and what it has come to.
func handle(n *notes, q *queue.Queue[parcel], picky bool) func(context.Context, *queue.Message[parcel]) error {
	return func(ctx context.Context, m *queue.Message[parcel]) error {
		l := note{What: noteCame, Name: q.Name(), Key: m.ID, Transfer: m.Payload.N, Step: m.Payload.How}
		err := n.write(l)
		if err == nil {
			err = dawdle(ctx, rand.IntN(40))
		}
		if err == nil && picky && m.Payload.stumbles() && m.Receives == 1 {
			err = errStumble
		}
		if err != nil {
			return err
		}
		l.What = noteDone
		if err := n.write(l); err != nil {
			return err
		}
		if picky && m.Payload.bad() {
			return stepwell.Fatal(errBad)
		}
		return nil
	}
}

// joining is a world that knows whether a worker has joined.
type joining struct {
	world.World
	joined *atomic.Bool
}

// Join implements world.Queue.
func (w joining) Join(ctx context.Context, wk world.Worker) (world.Heartbeat, error) {
	b, err := w.World.Join(ctx, wk)
	if err == nil {
		w.joined.Store(true)
	}
	return b, err
}

// deliver works on messages until ctx ends. It may fail to begin, as serve may.
func (o *orders) deliver(ctx context.Context, n *notes) (joined bool, err error) {
	below, err := openSoon(ctx, o.URL)
	if err != nil || ctx.Err() != nil {
		return false, err
	}
	w := joining{below, new(atomic.Bool)}
	defer func() { err = errors.Join(err, w.Close()) }()
	ring, err := keys(o.Keys)
	if err != nil {
		return true, err
	}
	app, err := stepwell.New(w, stepwell.Config{
		Definitions: post(n, o.Book), Name: o.Name, Build: "soak", Lease: o.Lease, Poll: o.Poll, Drain: 5 * time.Second, Encryption: ring,
		Logger: slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn})),
	})
	if err != nil {
		return true, err
	}
	err = app.Run(ctx)
	return w.joined.Load(), err
}
