package postgres_test

// The answers at the edges (docs/failures.md numbers them) on a real server and its clock, with the machines of waiting runs kept in memory and
// not. internal/behaviour shows them all in virtual time on memory and SQLite; here is what the world or the engine's dealings with it decide.
// Left to worldtest, which shows them whole on this world: 27 ("ten thousand payloads are enough", "the owner can close its inbox"), and what
// is deleted in 21 and 22 ("sweeping a run leaves its relatives alone", "a key is free when its run is swept").

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/internal/pgtest"
	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/postgres"
)

// TestAnswers: each answer holds, with the cache and without. The tests of one mode share a database, so the names in them differ.
func TestAnswers(t *testing.T) {
	t.Parallel()
	for mode, cache := range map[string]int{"cached": 0, "replayed": -1} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			url := pgtest.URL(t)
			w := openAnswers(t, url)
			for _, cases := range []map[string]func(*answers){
				answersInTime, answersOfSteps, answersOfValues, answersSideBySide, answersToActs, answersOfRuns, answersOfMany,
			} {
				for name, test := range cases {
					t.Run(name, func(t *testing.T) {
						t.Parallel()
						ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute) // for what never comes; a machine under load is slow
						defer cancel()
						test(&answers{T: t, ctx: ctx, url: url, world: w, cache: cache})
					})
				}
			}
		})
	}
}

func openAnswers(t *testing.T, url string, opts ...postgres.Options) *postgres.World {
	t.Helper()
	w, err := postgres.Open(t.Context(), url, opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	})
	return w
}

// answers is what the test of an answer has.
type answers struct {
	*testing.T
	ctx   context.Context // bounds all waiting
	url   string
	world world.World
	cache int // Config.CacheRuns
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
	cfg.CacheRuns = r.cache
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
	if !ok || e.Status != status {
		r.dump(run.ID())
		r.Fatalf("result = %v, %v, want a run that %s", out, err, status)
	}
	return e
}
