// Package answers holds the answers at the edges (docs/failures.md numbers them) as tests of any store, in virtual time
// and in real time: none waits for long, or for a moment. What can be told in virtual time alone is in internal/behaviour.
package answers

// What these tests share: a worker that can be stopped, and what is asked of a run.

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/world"
)

// Stage is a store, and a way to work on it. Tests may share it at once: the names in them differ.
type Stage struct {
	World world.World
	Mode  func(*stepwell.Config) // what each worker is to do otherwise
	// Replays holds the log of a run that is over against its code. Nil: nothing does.
	Replays func(run string, defs ...stepwell.Definition)

	// Of answers in real time alone.
	Clock func(t testing.TB, now func() time.Time) world.World // the same store by another clock
	Age   func(t testing.TB, run string)                       // lets a run have waited for a minute more than it has
}

// Answer is the test of one answer.
type Answer func(t *testing.T, s Stage)

// Shared are the answers that are held here alone, for each store.
func Shared() map[string]Answer {
	return named(sharedOfSteps, sharedOfValues, sharedSideBySide, sharedToActs, sharedOfRuns, sharedOfMany, sharedToPeople, sharedHeartbeats, sharedToSend, sharedBlobs, sharedDeclared)
}

// InRealTime are short forms of answers that internal/behaviour shows in virtual time, for a store that cannot follow it.
func InRealTime() map[string]Answer {
	return named(answersInTime, answersOfSteps, answersOfValues, answersSideBySide, answersToActs, answersOfRuns, answersOfMany, answersOfParts)
}

// named are tests of some topics, each with a bound for what never comes; a machine under load is slow.
func named(topics ...map[string]func(*answers)) map[string]Answer {
	all := map[string]Answer{}
	for _, cases := range topics {
		for name, test := range cases {
			all[name] = func(t *testing.T, s Stage) {
				ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
				defer cancel()
				test(&answers{T: t, ctx: ctx, stage: s, world: s.World})
			}
		}
	}
	return all
}

// answers is what the test of an answer has.
type answers struct {
	*testing.T
	ctx   context.Context // bounds all waiting
	stage Stage
	world world.World
}

// desk is a worker that can be stopped before the test ends.
type desk struct {
	*stepwell.App
	stop func() // and waits for that
	quit func() // tells it to, and does not wait
}

func (r *answers) begin(defs ...stepwell.Definition) *desk {
	r.Helper()
	return r.beginWith(stepwell.Config{Definitions: defs})
}

func (r *answers) beginWith(cfg stepwell.Config) *desk {
	r.Helper()
	r.stage.Mode(&cfg)
	app, err := stepwell.New(r.world, cfg)
	if err != nil {
		r.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- app.Run(ctx) }()
	d := &desk{App: app, quit: cancel, stop: sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			r.Errorf("Run = %v", err)
		}
	})}
	r.Cleanup(d.stop)
	return d
}

// client is an App that does not work.
func (r *answers) client(defs ...stepwell.Definition) *stepwell.App {
	r.Helper()
	app, err := stepwell.New(r.world, stepwell.Config{Definitions: defs})
	if err != nil {
		r.Fatal(err)
	}
	return app
}

func (r *answers) must(err error) {
	r.Helper()
	if err != nil {
		r.Fatal(err)
	}
}

// until polls for what something else brings about.
func (r *answers) until(what string, cond func() bool) {
	r.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !cond() {
		select {
		case <-tick.C:
		case <-r.ctx.Done():
			r.Fatalf("waited in vain for %s", what)
		}
	}
}

// has waits until a run has so many events of a type.
func (r *answers) has(run string, n int, typ world.EventType) []world.Event {
	r.Helper()
	var list []world.Event
	r.until(string(typ), func() bool { list = r.events(run, typ); return len(list) >= n })
	return list
}

// free waits until nobody owns a run.
func (r *answers) free(run string) {
	r.Helper()
	r.until("the run to be free", func() bool {
		row, err := r.world.Run(r.ctx, run)
		r.must(err)
		return row.Queue != nil && row.Queue.Owner == ""
	})
}

// past waits until a time that the log names is over.
func (r *answers) past(t time.Time) {
	r.Helper()
	r.until("the deadline", func() bool { return time.Since(t) > 20*time.Millisecond })
}

// events are a run's, all or of some types.
func (r *answers) events(run string, types ...world.EventType) (list []world.Event) {
	r.Helper()
	for cursor := ""; ; {
		page, err := r.world.Events(r.ctx, run, world.EventQuery{Cursor: cursor, Types: types})
		r.must(err)
		list, cursor = append(list, page.Events...), page.Cursor
		if !page.More {
			return list
		}
	}
}

// types are those of a run's events, with names.
func (r *answers) types(run string, of ...world.EventType) (list []string) {
	r.Helper()
	for _, e := range r.events(run, of...) {
		s := string(e.Type)
		if e.Name != "" {
			s += " " + e.Name
		}
		list = append(list, s)
	}
	return list
}

func (r *answers) status(run string) world.Status {
	r.Helper()
	row, err := r.world.Run(r.ctx, run)
	r.must(err)
	return row.Status
}

func (r *answers) get(run string) stepwell.RunInfo {
	r.Helper()
	info, err := r.client().Get(r.ctx, run)
	r.must(err)
	return info
}

// replays holds the log of a run that is over against its code, where something can.
func (r *answers) replays(run string, defs ...stepwell.Definition) {
	r.Helper()
	if r.stage.Replays != nil {
		r.stage.Replays(run, defs...)
	}
}

func (r *answers) dump(run string) {
	r.Helper()
	for _, e := range r.events(run) {
		r.Log(e.Seq, e.Commit, e.Time.Format("05.000"), e.Type, e.Name, e.Attempt, string(e.Payload), e.Error)
	}
}

// begun starts a run.
func begun[In, Out any](r *answers, app *stepwell.App, wf *stepwell.Workflow[In, Out], in In, opts ...stepwell.StartOption) *stepwell.Run[Out] {
	r.Helper()
	run, err := wf.Start(r.ctx, app, in, opts...)
	r.must(err)
	return run
}

// gives waits for a run's result.
func gives[Out any](r *answers, run *stepwell.Run[Out], want Out) {
	r.Helper()
	got, err := run.Result(r.ctx)
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		r.dump(run.ID())
		r.Fatalf("result: %v, want -, got +:\n%s", err, diff)
	}
}

// endsAs waits for a run's end, which is not a success.
func endsAs[Out any](r *answers, run *stepwell.Run[Out], status world.Status) *stepwell.RunError {
	r.Helper()
	out, err := run.Result(r.ctx)
	e, ok := errors.AsType[*stepwell.RunError](err)
	if !ok || e.Cancelled != (status == world.Cancelled) {
		r.dump(run.ID())
		r.Fatalf("result = %v, %v, want a run that %s", out, err, status)
	}
	return e
}
