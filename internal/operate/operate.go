// Package operate says what can be done to many runs, and how what was done is told: the same over REST and on the command line.
package operate

import (
	"context"
	"encoding/json"
	"errors"
	"slices"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/world"
)

// Done is how one thing that was done is told. Others add members to it.
type Done struct {
	Run    string `json:"run,omitempty"`
	Action string `json:"action"`
	Result string `json:"result"` // a word that never changes its meaning
}

// OfRun is what became of one run of many.
type OfRun struct {
	Run      string `json:"run"`
	Action   string `json:"action"`
	Result   string `json:"result"`
	Workflow string `json:"workflow"`
	Code     string `json:"code,omitempty"`  // of an error: see world.Codes
	Error    string `json:"error,omitempty"` // why it was refused
}

// Results that any act may have, beside its own.
const (
	Matched   = "matched"   // nothing was to be done: it would have been
	Unchanged = "unchanged" // it was so already
	Refused   = "refused"
)

// Words are what an act is told beside the runs.
type Words struct {
	Reason   string // of a cancel or a pause, for the log
	Event    string // of a signal, as are those below
	Payload  json.RawMessage
	Delivery string         // ID: repeated, each run gets it once
	Wake     []world.Waking // what a wake ends; none: see [stepwell.App.Wake]
}

// Act is one thing that can be done to many runs.
type Act struct {
	Name     string
	Result   string         // where it was done
	Status   []world.Status // of the runs that are meant, unless told
	Parallel int            // runs that a server acts on at once: they share the database's transactions
	On       func(app *stepwell.App, w Words) stepwell.Act
	Would    func(app *stepwell.App, w Words) stepwell.Act // answers as On does, of a run as a list has it, and does nothing
}

// Means is the status of the runs that are meant, unless told: runs that have not begun, too, where starts are to be woken.
func (a *Act) Means(w *Words) []world.Status {
	if slices.Contains(w.Wake, stepwell.WakeStarts) {
		return live
	}
	return a.Status
}

// Waking is what a wake is told to end, of the choices that all doors have.
func Waking(retries, starts, sleeps bool) (what []world.Waking) {
	for _, c := range []struct {
		chosen bool
		what   world.Waking
	}{{retries, stepwell.WakeRetries}, {starts, stepwell.WakeStarts}, {sleeps, stepwell.WakeSleeps}} {
		if c.chosen {
			what = append(what, c.what)
		}
	}
	return what
}

// Of is the act on one run, as yet not done.
func (a *Act) Of(r *stepwell.RunInfo, result string) OfRun {
	return OfRun{Run: r.ID, Action: a.Name, Result: result, Workflow: r.Workflow}
}

// ErrAlready says that a run is as it was to be.
var ErrAlready = errors.New("it is so already")

// Find returns the act with a name; nil: there is none.
func Find(name string) *Act {
	if i := slices.IndexFunc(All, func(a Act) bool { return a.Name == name }); i >= 0 {
		return &All[i]
	}
	return nil
}

var live = []world.Status{world.Pending, world.Running}

// How many runs a server acts on at once. A retry reads a run's log, and keeps it in memory.
const (
	parallel      = 16
	parallelRetry = 4
)

// All are the acts.
var All = []Act{
	{"cancel", "requested", live, parallel, func(app *stepwell.App, w Words) stepwell.Act {
		return func(ctx context.Context, r stepwell.RunInfo) error { return app.Cancel(ctx, r.ID, w.Reason) }
	}, wouldCancel},
	{"pause", "paused", live, parallel, func(app *stepwell.App, w Words) stepwell.Act {
		return unless(true, func(ctx context.Context, r stepwell.RunInfo) error { return app.Pause(ctx, r.ID, w.Reason) })
	}, wouldPause(true)},
	{"resume", "resumed", live, parallel, func(app *stepwell.App, _ Words) stepwell.Act {
		return unless(false, func(ctx context.Context, r stepwell.RunInfo) error { return app.Resume(ctx, r.ID) })
	}, wouldPause(false)},
	{"wake", "woken", []world.Status{world.Running}, parallel, func(app *stepwell.App, w Words) stepwell.Act {
		return func(ctx context.Context, r stepwell.RunInfo) error {
			woken, err := app.Wake(ctx, r.ID, w.Wake...)
			if err == nil && woken.Total() == 0 && !woken.Tried {
				err = ErrAlready // it waits for no time
			}
			return err
		}
	}, wouldWake},
	{"retry", "created", []world.Status{world.Failed}, parallelRetry, func(app *stepwell.App, _ Words) stepwell.Act {
		return func(ctx context.Context, r stepwell.RunInfo) error {
			retried, err := app.Retry(ctx, r.ID)
			if err == nil && retried.Existed() {
				err = ErrAlready
			}
			return err
		}
	}, wouldRetry},
	{"restart", "created", []world.Status{world.Failed}, parallelRetry, func(app *stepwell.App, _ Words) stepwell.Act {
		return func(ctx context.Context, r stepwell.RunInfo) error {
			made, err := app.Restart(ctx, r.ID, stepwell.RestartOptions{InPlace: true})
			if err == nil && made.Existed() {
				err = ErrAlready
			}
			return err
		}
	}, wouldRestart},
	{"signal", "sent", live, parallel, func(app *stepwell.App, w Words) stepwell.Act {
		return func(ctx context.Context, r stepwell.RunInfo) error {
			return app.Signal(ctx, r.ID, w.Event, w.Payload, stepwell.DeliveryID(w.Delivery))
		}
	}, wouldSignal},
}

// unless leaves out runs that are paused, or are not. What waits in an inbox may say otherwise: such a run is not left out.
func unless(paused bool, act stepwell.Act) stepwell.Act {
	return func(ctx context.Context, r stepwell.RunInfo) error {
		if q := r.Queue; q != nil && q.Paused == paused && q.Mail == 0 {
			return ErrAlready
		}
		return act(ctx, r)
	}
}
