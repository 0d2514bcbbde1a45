package stepwelltest

// This file holds what a test does to a run, and reads of it.

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/journal"
)

// Run is a run that the test has started.
type Run[Out any] struct {
	env *Env
	get func(app *stepwell.App, id string) *stepwell.Run[Out]
	n   int // of those that the test started
}

// ID is the run's ID.
func (r *Run[Out]) ID() string { return r.env.life.started[r.n] }

// Send sends an event to a run. One that nobody waits for yet is kept.
func Send[T, Out any](r *Run[Out], event *stepwell.EventDef[T], payload T) {
	r.env.t.Helper()
	r.env.must(act{"send event " + event.Name(), func(l *life) error {
		return event.Send(l.ctx, l.client, l.started[r.n], payload)
	}})
}

// Cancel asks the run to end.
func (r *Run[Out]) Cancel(reason string) {
	r.env.t.Helper()
	r.env.must(act{"cancel", func(l *life) error { return l.client.Cancel(l.ctx, l.started[r.n], reason) }})
}

// Token is the token of the run's open hook. It fails the test where there is not exactly one.
func (r *Run[Out]) Token() string {
	r.env.t.Helper()
	var hooks []world.HookRow
	var err error
	r.env.life.call(func() { hooks, err = r.env.life.client.Hooks(r.env.life.ctx, r.ID(), "") })
	if err != nil || len(hooks) != 1 {
		r.env.t.Fatalf("run %s has %d open hooks, %v, want one\n%s", r.ID(), len(hooks), err, r.env.life.story(r.ID()))
	}
	return hooks[0].Token
}

// MustComplete lets time pass until the run is over, if it is not, and returns its output. It fails the test where the run came to
// another end, where nothing but a signal, a payload or changed code could move it, and where it goes on for 20 years or 10,000
// wake-ups.
func (r *Run[Out]) MustComplete() Out {
	r.env.t.Helper()
	out, err := r.result()
	if err != nil {
		r.env.t.Fatalf("%v, want it to complete\n%s", err, r.env.life.story(r.ID()))
	}
	return out
}

// MustFail lets time pass until the run is over, and returns how it failed. It fails the test where the run did not.
func (r *Run[Out]) MustFail() *stepwell.RunError {
	r.env.t.Helper()
	return r.mustEnd(world.Failed)
}

// MustBeCancelled lets time pass until the run is over, and returns with what error it ended. It fails the test where the run was
// not cancelled.
func (r *Run[Out]) MustBeCancelled() *stepwell.RunError {
	r.env.t.Helper()
	return r.mustEnd(world.Cancelled)
}

func (r *Run[Out]) mustEnd(want world.Status) *stepwell.RunError {
	r.env.t.Helper()
	_, err := r.result()
	e, ok := err.(*stepwell.RunError)
	if !ok || e.Cancelled != (want == world.Cancelled) {
		if err == nil {
			err = fmt.Errorf("run %s completed", r.ID())
		}
		r.env.t.Fatalf("%v, want it to be %s\n%s", err, want, r.env.life.story(r.ID()))
	}
	return e
}

// result waits for the run's end. What time passes is remembered.
func (r *Run[Out]) result() (out Out, err error) {
	id, l := r.ID(), r.env.life
	var passed time.Duration
	over, tired := false, false
	l.call(func() {
		passed, tired = l.until(func() bool {
			row, err := l.row(id)
			over = err != nil || row.Status.Terminal()
			return over || row.Queue != nil && row.Queue.Blocked != nil
		})
		switch {
		case over:
			out, err = r.get(l.client, id).Result(l.ctx)
		case tired:
			err = fmt.Errorf("run %s is not over after %d days, and continues", id, int(passed.Hours()/24))
		default:
			err = fmt.Errorf("run %s is not over, and advancing the time cannot move it", id)
		}
	})
	if passed > 0 {
		r.env.script = append(r.env.script, act{"advance " + passed.String(), func(l *life) error {
			l.pass(passed)
			return nil
		}})
	}
	return out, err
}

// Why tells why the run does not move.
func (r *Run[Out]) Why() stepwell.Why {
	r.env.t.Helper()
	var why stepwell.Why
	r.look(func(ctx context.Context, app *stepwell.App) (err error) {
		why, err = app.Why(ctx, r.ID())
		return err
	})
	return why
}

// Journal is the story of the run so far: its steps, waits and hooks, with their inputs and outputs, its error.
func (r *Run[Out]) Journal() *journal.Journal {
	r.env.t.Helper()
	var story stepwell.Story
	r.look(func(ctx context.Context, app *stepwell.App) (err error) {
		story, err = app.Story(ctx, r.ID(), true)
		return err
	})
	return story.Journal
}

// Events are those of the run's log.
func (r *Run[Out]) Events() []world.Event {
	r.env.t.Helper()
	var list []world.Event
	r.look(func(ctx context.Context, app *stepwell.App) error {
		for e, err := range app.Events(ctx, r.ID(), stepwell.EventFilter{}) {
			if err != nil {
				return err
			}
			list = append(list, e)
		}
		return nil
	})
	return list
}

// Status is where the run is in its life.
func (r *Run[Out]) Status() world.Status {
	r.env.t.Helper()
	var status world.Status
	r.look(func(ctx context.Context, app *stepwell.App) error {
		row, err := app.Get(ctx, r.ID())
		status = row.Status
		return err
	})
	return status
}

// look reads, and does nothing that would have to be done again.
func (r *Run[Out]) look(fn func(ctx context.Context, app *stepwell.App) error) {
	r.env.t.Helper()
	var err error
	r.env.life.call(func() { err = fn(r.env.life.ctx, r.env.life.client) })
	if err != nil {
		r.env.t.Fatal(err)
	}
}

// text is a payload in a message.
func text(b json.RawMessage) string {
	const most = 100
	if len(b) > most {
		return string(b[:most]) + "…"
	}
	return string(b)
}
