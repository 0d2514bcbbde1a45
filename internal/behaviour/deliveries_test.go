package behaviour_test

// This file sends again: over segments, from a killed step, when an answer is lost, when the run is over, and more
// than a run takes.

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/internal/kit"
	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/memory"
	"github.com/stepwell/stepwell/world/sqlite"
)

// entry is what a ledger is sent, and book what it has seen.
type entry struct {
	Invoice string `json:"invoice"`
}

type book struct {
	Seen []string `json:"seen"`
}

var entered = stepwell.Event[entry]("entered")

// ledgerOf notes what it is sent, in segments of so many events, until it is closed.
func ledgerOf(events int) *stepwell.Workflow[book, book] {
	return stepwell.Define("ledger", func(ctx stepwell.Context, b book) (book, error) {
		for range events {
			e, _, err := entered.Wait(ctx)
			if err != nil {
				return b, err
			}
			if b.Seen = append(b.Seen, e.Invoice); e.Invoice == "close" {
				return b, nil
			}
		}
		return b, stepwell.ContinueAsNew(ctx, b)
	}, stepwell.KeepSegments(1))
}

// TestRepeatsOverSegments sends one event again and again while others pass, two a segment, and nothing before the
// newest is kept: it is one.
func TestRepeatsOverSegments(t *testing.T) {
	everywhere(t, func(r *rig) {
		wf := ledgerOf(2)
		app := r.begin(wf)
		run := start(r, app, wf, book{})
		send := func(invoice, id string) error {
			return entered.Send(r.ctx, app.App, run.ID(), entry{invoice}, stepwell.DeliveryID(id))
		}
		must := func(invoice, id string) {
			r.Helper()
			if err := send(invoice, id); err != nil {
				r.Fatalf("send %s: %v", id, err)
			}
		}
		wanted := book{[]string{"invoice-9"}}
		for i := range 8 {
			must("invoice-9", "invoice-9")
			must(fmt.Sprint(i), fmt.Sprint("d", i))
			r.pass(time.Second)
			must(fmt.Sprint(i), fmt.Sprint("d", i))
			if err := send("another", "invoice-9"); !errors.Is(err, stepwell.ErrDeliveryUsed) {
				r.Errorf("another payload under a used ID: got %v, want ErrDeliveryUsed", err)
			}
			if _, err := r.world.Sweep(r.ctx, 10); err != nil {
				r.Fatal(err)
			}
			wanted.Seen = append(wanted.Seen, fmt.Sprint(i))
		}
		must("close", "close")
		wanted.Seen = append(wanted.Seen, "close")
		want(r, run, wanted)
		must("close", "close") // the same answer
		if err := send("late", "late"); !errors.Is(err, stepwell.ErrTerminal) {
			r.Errorf("what is new, after the end: got %v, want ErrTerminal", err)
		}
	})
}

// TestRepeatsOfAStep has a step send under its own key on each of its attempts, with segments of the addressee
// between them: with none between, a window of two segments would do.
func TestRepeatsOfAStep(t *testing.T) {
	everywhere(t, func(r *rig) {
		wf := ledgerOf(1)
		var app *worker
		attempts := 0
		sender := stepwell.Define("sender", func(ctx stepwell.Context, to string) (string, error) {
			return stepwell.Step(ctx, "send", func(ctx context.Context) (string, error) {
				attempts++
				key := stepwell.Info(ctx).IdempotencyKey
				if err := entered.Send(ctx, app.App, to, entry{"once"}, stepwell.DeliveryID(key)); err != nil {
					return "", err
				}
				if attempts == 5 {
					return key, nil
				}
				for i := range 3 { // each is a segment of the addressee's
					if err := entered.Send(ctx, app.App, to, entry{fmt.Sprint(attempts, "-", i)}); err != nil {
						return "", err
					}
				}
				return "", errors.New("it went, and then the step failed")
			}, stepwell.Retry{Attempts: 5})
		})
		app = r.begin(wf, sender)
		wanted := book{[]string{"once"}}
		for i := range 12 {
			wanted.Seen = append(wanted.Seen, fmt.Sprint(i/3+1, "-", i%3))
		}
		wanted.Seen = append(wanted.Seen, "close")
		to := start(r, app, wf, book{})
		from := start(r, app, sender, to.ID())
		if _, err := from.Result(r.ctx); err != nil {
			r.Fatal(err)
		}
		if err := entered.Send(r.ctx, app.App, to.ID(), entry{"close"}); err != nil {
			r.Fatal(err)
		}
		want(r, to, wanted)
	})
}

// losing is a world that accepts deliveries and loses its answers, until it is told to stop, and may do something
// before each.
type losing struct {
	world.World
	lose   atomic.Bool
	before func()
}

func (w *losing) Deliver(ctx context.Context, d *world.Delivery) (world.Delivered, error) {
	done, err := w.World.Deliver(ctx, d)
	if d.Task == nil && w.lose.CompareAndSwap(true, false) {
		if w.before != nil {
			w.before()
		}
		return world.Delivered{}, fmt.Errorf("the answer was lost: %w", world.ErrUnknownOutcome)
	}
	return done, err
}

// TestLostAnswers has the answer of a send lost, whose effect ends the run: it is not reported as refused.
func TestLostAnswers(t *testing.T) {
	for name, act := range map[string]func(ctx context.Context, app *stepwell.App, run string) error{
		"event": func(ctx context.Context, app *stepwell.App, run string) error {
			return entered.Send(ctx, app, run, entry{"close"})
		},
		"cancel": func(ctx context.Context, app *stepwell.App, run string) error { return app.Cancel(ctx, run, "") },
		"force":  func(ctx context.Context, app *stepwell.App, run string) error { return app.ForceCancel(ctx, run, "") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, kinds[0].open, modes[0].set, func(r *rig) {
				w := &losing{World: r.world}
				r.world = w
				wf := ledgerOf(2)
				app := r.begin(wf)
				run := start(r, app, wf, book{})
				r.pass(time.Second)
				w.before = func() { r.pass(time.Minute) } // the run ends meanwhile
				w.lose.Store(true)
				if err := act(r.ctx, app.App, run.ID()); err != nil {
					r.Errorf("got %v, though it had its effect", err)
				}
				if status := r.get(run.ID()).Status; !status.Terminal() {
					r.Errorf("the run is %s", status)
				}
			})
		})
	}
}

// refusing loses an answer of which nobody knows what became, and refuses what comes after it: a proxy between
// may do so.
type refusing struct {
	world.World
	sent int
}

func (w *refusing) Deliver(context.Context, *world.Delivery) (world.Delivered, error) {
	if w.sent++; w.sent == 1 {
		return world.Delivered{}, world.ErrUnknownOutcome
	}
	return world.Delivered{}, world.ErrTerminal
}

func TestLostAnswerStaysUnknown(t *testing.T) {
	app, err := stepwell.New(&refusing{World: memory.New()}, stepwell.Config{})
	if err != nil {
		t.Fatal(err)
	}
	err = entered.Send(t.Context(), app, "wrun_x", entry{})
	if !errors.Is(err, world.ErrUnknownOutcome) || errors.Is(err, stepwell.ErrTerminal) {
		t.Errorf("got %v, want that it is unknown what became of it", err)
	}
}

// TestCancelOutcome asks what became of cancels.
func TestCancelOutcome(t *testing.T) {
	everywhere(t, func(r *rig) {
		wf := ledgerOf(2)
		last := make(chan struct{})
		slow := stepwell.Define("slow", func(ctx stepwell.Context, fail bool) (string, error) {
			err := stepwell.Do(ctx, "s", func(context.Context) error { <-last; return nil })
			if err == nil && fail {
				err = errors.New("no")
			}
			return "", err
		})
		app := r.begin(wf, slow)
		outcome := func(run string, want stepwell.CancelOutcome) {
			r.Helper()
			if got, err := app.CancelOutcome(r.ctx, run); err != nil || got != want {
				r.Errorf("got %q, %v; want %q", got, err, want)
			}
		}
		run := start(r, app, wf, book{})
		r.pass(time.Second)
		if err := app.Cancel(r.ctx, run.ID(), "why"); err != nil {
			r.Fatal(err)
		}
		_, _ = run.Result(r.ctx)
		outcome(run.ID(), stepwell.CancelDone)
		if err := app.Cancel(r.ctx, run.ID(), "again"); err != nil {
			r.Errorf("a cancel of a cancelled run: got %v, want none", err)
		}

		done := start(r, app, wf, book{})
		if err := entered.Send(r.ctx, app.App, done.ID(), entry{"close"}); err != nil {
			r.Fatal(err)
		}
		_, _ = done.Result(r.ctx)
		for _, err := range []error{app.Cancel(r.ctx, done.ID(), ""), func() error { _, err := app.CancelOutcome(r.ctx, done.ID()); return err }()} {
			if !errors.Is(err, stepwell.ErrTerminal) {
				r.Errorf("of a run that completed: got %v, want ErrTerminal", err)
			}
		}
		close(last)
	})
}

// TestTooLate ends runs by a worker that never sees what was sent before: none of it vanishes without a trace.
func TestTooLate(t *testing.T) {
	for _, k := range kinds {
		for end, wanted := range map[world.EventType]stepwell.CancelOutcome{world.RunCompleted: stepwell.CancelTooLate, world.RunFailed: stepwell.CancelFailed} {
			t.Run(k.name+"/"+string(end), func(t *testing.T) {
				t.Parallel()
				bubble(t, k.open, modes[0].set, func(r *rig) {
					app := r.client()
					if _, err := r.world.Join(r.ctx, world.Worker{ID: "w", Name: "w", Lease: time.Hour}); err != nil {
						r.Fatal(err)
					}
					now := world.Now()
					c := &world.Commit{ID: [16]byte{1}, Run: "late-" + string(end), Worker: "w", First: 1, Events: []world.Event{
						{Type: world.RunCreated, Time: now, Payload: []byte(`1`), Birth: &world.Birth{Workflow: "w", Version: 1}}, {Type: world.RunStarted, Time: now},
					}}
					if _, err := r.world.Commit(r.ctx, c); err != nil {
						r.Fatal(err)
					}
					if err := app.Cancel(r.ctx, c.Run, "too late"); err != nil {
						r.Fatal(err)
					}
					if err := app.Pause(r.ctx, c.Run, ""); err != nil {
						r.Fatal(err)
					}
					if _, err := r.world.Commit(r.ctx, &world.Commit{ID: [16]byte{2}, Run: c.Run, Worker: "w", Claim: 1, First: 3, Events: []world.Event{
						{Type: end, Time: now, Payload: []byte(`1`)},
					}}); err != nil {
						r.Fatal(err)
					}
					if got, err := app.CancelOutcome(r.ctx, c.Run); err != nil || got != wanted {
						r.Errorf("got %q, %v; want %q", got, err, wanted)
					}
					var late []string
					for _, l := range r.get(c.Run).Late {
						late = append(late, string(l.Type)+" "+l.Reason)
					}
					if diff := cmp.Diff(2, len(late)); diff != "" || !strings.Contains(strings.Join(late, ","), "cancel_requested too late") {
						r.Errorf("late mail: %q", late)
					}
				})
			})
		}
	}
}

// TestInboxLimitUnderALoad has many send to a run that reads nothing: it takes what it may, and one more of
// each at most, however fast they are.
func TestInboxLimitUnderALoad(t *testing.T) {
	const limit, senders, each = 1000, 16, 250
	bounded := map[string]func(t testing.TB) world.World{
		"memory": func(testing.TB) world.World { return memory.New(memory.Options{InboxLimit: limit}) },
		"sqlite": func(t testing.TB) world.World {
			return openFile(t, filepath.Join(t.TempDir(), "runs.db"), sqlite.Options{InboxLimit: limit})
		},
	}
	for name, open := range bounded {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, open, modes[0].set, func(r *rig) {
				deaf := stepwell.Define("deaf", func(ctx stepwell.Context, _ int) (int, error) { return 0, stepwell.Sleep(ctx, "s", time.Hour) })
				cfg := stepwell.Config{Definitions: []stepwell.Definition{deaf}}
				kit.Set(&cfg, kit.Overrides{Unread: limit})
				app := r.beginWith(cfg)
				run := start(r, app, deaf, 0)
				var accepted atomic.Int64
				var wg sync.WaitGroup
				for range senders {
					wg.Go(func() {
						for range each {
							switch err := entered.Send(r.ctx, app.App, run.ID(), entry{}); {
							case err == nil:
								accepted.Add(1)
							case !errors.Is(err, stepwell.ErrInboxFull):
								r.Errorf("got %v, want ErrInboxFull", err)
							}
						}
					})
				}
				wg.Wait()
				if n := accepted.Load(); n < limit || n > limit+senders {
					r.Errorf("it took %d of %d payloads, with a limit of %d", n, senders*each, limit)
				}
				if err := app.ForceCancel(r.ctx, run.ID(), ""); err != nil {
					r.Fatal(err)
				}
			})
		})
	}
}
