package postgres

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/stepwell/stepwell/world"
)

func publications(topic string, n int) (all []world.Publication) {
	for i := range n {
		all = append(all, world.Publication{Topic: topic, Source: "s", Payload: fmt.Append(nil, i), Headers: map[string]string{"k": `v"\{},`}})
	}
	return all
}

// payloadsOf are the payloads of what was published, the first one first.
func payloadsOf(t *testing.T, w *World) (out []string) {
	t.Helper()
	page, err := w.Topics().Publications(t.Context(), world.PublicationQuery{Limit: 1000})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range page.Publications {
		if p.Damage != "" {
			t.Errorf("publication %s: %s", p.ID, p.Damage)
		}
		out = append([]string{string(p.Payload)}, out...)
	}
	return out
}

// What is published in a caller's transaction is there with its commit, and never where that is rolled back; what has a
// delivery ID waits for another transaction that has it.
func TestPublishIn(t *testing.T) {
	eachBegin(t, func(t *testing.T, w *World, begin func() callerTx) {
		all := publications("a", 4)
		all[1].Dedupe, all[2].Delay = "d", time.Hour
		gone := begin()
		if _, err := w.PublishIn(t.Context(), gone.Tx, all); err != nil {
			t.Fatal(err)
		}
		if got := payloadsOf(t, w); len(got) != 0 {
			t.Fatalf("before its commit there is %q", got)
		}
		if err := gone.rollback(); err != nil {
			t.Fatal(err)
		}
		told := make(chan struct{}, 1)
		stop := w.Notify(func(n world.Notice) {
			if n.Kind == world.NoticeTopic {
				select {
				case told <- struct{}{}:
				default:
				}
			}
		})
		defer stop()
		tx := begin()
		sent, err := w.PublishIn(t.Context(), tx.Tx, all)
		if err != nil || len(sent) != 4 {
			t.Fatalf("got %+v, %v", sent, err)
		}
		again, err := w.PublishIn(t.Context(), tx.Tx, all[1:2])
		if err != nil || !again[0].Duplicate || again[0].ID != sent[1].ID {
			t.Fatalf("again: got %+v, %v", again, err)
		}
		_, err = w.PublishIn(t.Context(), tx.Tx, []world.Publication{{Topic: "a.*", Payload: []byte(`1`)}})
		wantErr(t, err, world.ErrInvalid) // and the transaction goes on
		if err := tx.exec("INSERT INTO mine VALUES (1)"); err != nil {
			t.Fatal(err)
		}
		// Nobody waits for what it has published, but for who has its delivery ID.
		if _, err := w.Topics().Publish(t.Context(), publications("b", 2)); err != nil {
			t.Fatal(err)
		}
		other := make(chan error, 1)
		go func() {
			got, err := w.Topics().Publish(context.WithoutCancel(t.Context()), all[1:2])
			if err == nil && (!got[0].Duplicate || got[0].ID != sent[1].ID) {
				err = fmt.Errorf("got %+v, want a duplicate of %+v", got, sent[1])
			}
			other <- err
		}()
		select {
		case err := <-other:
			t.Fatalf("it did not wait: %v", err)
		case <-time.After(50 * time.Millisecond): // real time: another transaction holds it
		}
		if err := tx.commit(); err != nil {
			t.Fatal(err)
		}
		if err := <-other; err != nil {
			t.Fatal(err)
		}
		<-told
		if got := fmt.Sprint(payloadsOf(t, w)); got != "[0 1 2 3 0 1]" {
			t.Errorf("there is %s", got)
		}
	})
}

// Who spreads holds up nobody who publishes, and nobody waits for who spreads.
func TestOneSpreads(t *testing.T) {
	t.Parallel()
	w := open(t)
	sent, err := w.Topics().Publish(t.Context(), publications("a", 2))
	if err != nil {
		t.Fatal(err)
	}
	tx, err := w.pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback(t.Context()) }()
	if _, err := tx.Exec(t.Context(), w.sql(lockSpreading)); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Topics().Publish(t.Context(), publications("a", 2)); err != nil {
		t.Fatal(err)
	}
	due, err := w.Topics().Due(t.Context(), world.DueQuery{Limit: 10})
	if err != nil || len(due.Publications) != 4 {
		t.Fatalf("got %+v, %v", due, err)
	}
	s := world.Spread{Revision: due.Revision, Done: []string{sent[0].ID}}
	ctx, cancel := context.WithTimeout(t.Context(), lockPatience/2)
	defer cancel()
	if done, err := w.Topics().Spread(ctx, s); err != nil || done {
		t.Fatalf("beside another who spreads: %t, %v", done, err)
	}
	if err := tx.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	if done, err := w.Topics().Spread(ctx, s); err != nil || !done {
		t.Fatalf("when he is gone: %t, %v", done, err)
	}
}

// A sweep deletes what was published more than a day ago and has gone out, or was set aside, and nothing that is due.
func TestSweepOfPublications(t *testing.T) {
	t.Parallel()
	w := open(t)
	all := publications("a", world.MaxBatch)
	all[5].Delay = 48 * time.Hour
	var done []string
	var aside []world.Aside
	for range 2 {
		sent, err := w.Topics().Publish(t.Context(), all)
		if err != nil {
			t.Fatal(err)
		}
		aside = append(aside, world.Aside{ID: sent[7].ID, Error: "a test"})
		for i, s := range sent {
			if i < 5 || i > 7 {
				done = append(done, s.ID)
			}
		}
	}
	half := len(done) / 2
	for _, s := range []world.Spread{{Revision: 1, Done: done[:half]}, {Revision: 1, Done: done[half:]}, {Revision: 1, Aside: aside}} {
		if done, err := w.Topics().Spread(t.Context(), s); err != nil || !done {
			t.Fatalf("spread: %t, %v", done, err)
		}
	}
	for _, want := range []int{2 * world.MaxBatch, 4, 4} {
		if _, err := w.Sweep(t.Context(), 1); err != nil {
			t.Fatal(err)
		}
		var n, due int
		if err := w.pool.QueryRow(t.Context(), "SELECT (SELECT count(*) FROM stepwell.publications), (SELECT count(*) FROM stepwell.due)").Scan(&n, &due); err != nil || n != want || due != min(n, 6) {
			t.Errorf("%d publications are there, and %d of what is due, %v; want %d", n, due, err, want)
		}
		execute(t, w.cfg.ConnString(), "UPDATE stepwell.publications SET at = at - interval '25 hours', due_at = due_at - interval '25 hours'")
	}
}

// Who drops a queue waits for who subscribes it at that moment, and leaves it then; who subscribes one that is being
// dropped finds that it is gone. So no subscription names a queue that is not there.
func TestSubscribeWhileTheQueueIsDropped(t *testing.T) {
	t.Parallel()
	w := open(t)
	k := &w.topics
	declare := func(queue string) {
		t.Helper()
		if err := w.Messages().DeclareQueue(t.Context(), world.MessageQueue{Name: queue}); err != nil {
			t.Fatal(err)
		}
	}
	subscribes := func(queue string) world.Spread {
		t.Helper()
		due, err := k.Due(t.Context(), world.DueQuery{Limit: 1})
		if err != nil {
			t.Fatal(err)
		}
		return world.Spread{Revision: due.Revision, Subscribe: &world.Subscription{Name: "to-" + queue, Pattern: "#", Queue: queue}}
	}
	declare("first")
	s := subscribes("first")
	dropped := make(chan error, 1)
	err := k.db.change(t.Context(), func(ctx context.Context, tx pgx.Tx) error {
		if _, err := k.spreadIn(ctx, k.db.in(tx), &s, nil); err != nil {
			return err
		}
		go func() { dropped <- w.Messages().DropQueue(t.Context(), "first") }()
		waitForLock(t, w)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := <-dropped; !errors.Is(err, world.ErrConflict) {
		t.Errorf("dropped while it was subscribed: got %v, want ErrConflict", err)
	}
	declare("second")
	s = subscribes("second")
	err = k.db.change(t.Context(), func(ctx context.Context, tx pgx.Tx) error {
		in := k.db.in(tx)
		for _, x := range []*statement{holdSpreading, lockMessages} {
			if _, err := in.exec(ctx, x); err != nil {
				return err
			}
		}
		if done, err := k.Spread(t.Context(), s); done || err != nil { // it comes again
			t.Errorf("subscribed while it is dropped: %t, %v", done, err)
		}
		_, err := in.exec(ctx, dropQueue, "second")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if done, err := k.Spread(t.Context(), s); done || !errors.Is(err, world.ErrNotFound) {
		t.Errorf("subscribed after it was dropped: %t, %v, want ErrNotFound", done, err)
	}
}
