package starts_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/internal/pgtest"
	"github.com/stepwell/stepwell/internal/sample"
	"github.com/stepwell/stepwell/stepwelltest"
	"github.com/stepwell/stepwell/stepwelltest/postgrestest"
	"github.com/stepwell/stepwell/stepwelltest/sqlitetest"
	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/memory"
)

// shop is what is synchronised.
type shop struct {
	Name string `json:"name"`
	N    int    `json:"n"`
}

func nameOf(s shop) string { return s.Name }

// working counts who is at work on what.
type working struct {
	mu   sync.Mutex
	now  map[string]int // guarded by mu
	most int            // guarded by mu
}

func (w *working) begin(name string) (end func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.now == nil {
		w.now = make(map[string]int)
	}
	w.now[name]++
	w.most = max(w.most, w.now[name])
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.now[name]--
	}
}

// TestSingletonCrashes: a worker that dies at any commit neither loses a run of a singleton, nor has two of a key at
// work: the one that is replaced has cleaned up when the one in its place begins.
func TestSingletonCrashes(t *testing.T) {
	update := stepwell.Define("sync", func(ctx stepwell.Context, s shop) (int, error) {
		stepwell.AddUndo(ctx, "clean up", func(context.Context, any) error { return nil }, nil)
		if err := stepwell.Sleep(ctx, "a while", time.Hour); err != nil {
			return 0, err
		}
		return s.N, nil
	}, stepwell.Singleton{Key: stepwell.KeyOf(nameOf), Replace: true})
	job := stepwell.Define("job", func(ctx stepwell.Context, s shop) (int, error) {
		return s.N, stepwell.Sleep(ctx, "a while", time.Hour)
	}, stepwell.Singleton{By: "name"})
	ask := stepwell.Define("ask", func(ctx stepwell.Context, s shop) (string, error) {
		if _, err := job.Child().Run(ctx, s); !errors.Is(err, stepwell.ErrRunExists) {
			return "", stepwell.Fatal(errors.New("the child was created"))
		}
		n, err := update.Child().Run(ctx, s)
		return string(rune('0' + n)), err
	})
	config := stepwell.Config{Definitions: []stepwell.Definition{update, job, ask}}
	stores := map[string]func(t *testing.T) stepwelltest.Store{
		"memory":   func(*testing.T) stepwelltest.Store { return nil },
		"sqlite":   func(*testing.T) stepwelltest.Store { return sqlitetest.Store() },
		"postgres": func(t *testing.T) stepwelltest.Store { return postgrestest.Store(pgtest.URL(t)) },
	}
	for _, name := range sample.OneKey(t, stores) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := stepwelltest.NewWith(t, stepwelltest.Options{Config: config, Store: stores[name](t)})
			first := stepwelltest.Start(e, update, shop{"ann", 1})
			kept := stepwelltest.Start(e, job, shop{"ann", 1})
			e.Advance(time.Minute)
			same := stepwelltest.Start(e, job, shop{"ann", 2})
			second := stepwelltest.Start(e, update, shop{"ann", 2})
			third := stepwelltest.Start(e, ask, shop{"ann", 3})
			e.Advance(2 * time.Hour)
			first.MustBeCancelled()
			second.MustBeCancelled()
			if got := third.MustComplete(); got != "3" {
				t.Errorf("got %q", got)
			}
			if got := kept.MustComplete(); got != 1 || same.MustComplete() != 1 {
				t.Errorf("got %d of the run that is kept, want 1", got)
			}
			e.CrashEverywhere()
		})
	}
}

// single is a program with one worker, on memory.
type single struct {
	*testing.T
	app   *stepwell.App
	at    working
	sync  *stepwell.Workflow[shop, int]
	clean time.Duration // how long the clean-up takes
}

// withSingle runs f beside a worker of a workflow that sleeps for an hour, and then cleans up where it was cancelled.
func withSingle(t *testing.T, replace bool, f func(s *single)) {
	synctest.Test(t, func(t *testing.T) {
		s := &single{T: t, clean: time.Minute}
		s.sync = stepwell.Define("sync", func(ctx stepwell.Context, in shop) (int, error) {
			if in.N < 0 {
				return 0, stepwell.ContinueAsNew(ctx, shop{"another", -in.N})
			}
			err := stepwell.Do(ctx, "work", func(ctx context.Context) error {
				defer s.at.begin(in.Name)()
				select {
				case <-time.After(time.Hour):
				case <-ctx.Done():
					<-time.After(s.clean)
				}
				if in.N == 0 {
					return stepwell.Fatal(errors.New("nothing to do"))
				}
				return ctx.Err()
			})
			return in.N, err
		}, stepwell.Singleton{Key: stepwell.KeyOf(nameOf), Replace: replace})
		app, err := stepwell.New(memory.New(), stepwell.Config{Logger: slog.New(slog.DiscardHandler), Definitions: []stepwell.Definition{s.sync}, CancelGrace: time.Hour})
		if err != nil {
			t.Fatal(err)
		}
		s.app = app
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- app.Run(ctx) }()
		synctest.Wait()
		f(s)
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		time.Sleep(2 * s.clean) // bodies
		if s.at.most > 1 {
			t.Errorf("%d runs of a key were at work at once", s.at.most)
		}
	})
}

func (s *single) start(in shop, opts ...stepwell.StartOption) *stepwell.Run[int] {
	s.Helper()
	run, err := s.sync.Start(s.Context(), s.app, in, opts...)
	if err != nil {
		s.Fatal(err)
	}
	return run
}

func (s *single) status(run string, want world.Status) {
	s.Helper()
	if info, err := s.app.Get(s.Context(), run); err != nil || info.Status != want {
		s.Errorf("run %s: got %s, %v; want %s", run, info.Status, err, want)
	}
}

// TestSingletonKeeps: starts while a run of the key is live return that run, and say so.
func TestSingletonKeeps(t *testing.T) {
	withSingle(t, false, func(s *single) {
		ctx := s.Context()
		first := s.start(shop{"ann", 1}, stepwell.Key("k"))
		if other := s.start(shop{"bob", 1}); other.Existed() {
			s.Error("another key is merged")
		}
		<-time.After(time.Minute)
		for _, opts := range [][]stepwell.StartOption{nil, {stepwell.RunID("own")}, {stepwell.Key("new")}, {stepwell.Delay(time.Hour)}, {stepwell.Key("k")}} {
			if run := s.start(shop{"ann", 2}, opts...); !run.Existed() || run.ID() != first.ID() {
				s.Errorf("got run %s, existed %v; want %s", run.ID(), run.Existed(), first.ID())
			}
		}
		byName, err := s.app.Start(ctx, "sync", []byte(`{"name":"ann"}`))
		if err != nil || !byName.Existed() || byName.ID() != first.ID() {
			s.Errorf("by name: got %v, %v", byName, err)
		}
		if err := s.app.Pause(ctx, first.ID(), ""); err != nil {
			s.Fatal(err)
		}
		<-time.After(3 * time.Hour)
		if run := s.start(shop{"ann", 2}); !run.Existed() {
			s.Error("a run that is paused is not live")
		}
		if err := s.app.Resume(ctx, first.ID()); err != nil {
			s.Fatal(err)
		}
		if n, err := first.Result(ctx); n != 1 || err != nil {
			s.Errorf("got %d, %v", n, err)
		}
		// An idempotency key that was merged away is not used, and one that was used is.
		second := s.start(shop{"ann", 2}, stepwell.Key("new"))
		if again := s.start(shop{"ann", 2}, stepwell.Key("k")); second.Existed() || again.ID() != first.ID() {
			s.Errorf("got runs %s and %s", second.ID(), again.ID())
		}
		third := s.start(shop{"continued", -3})
		<-time.After(time.Minute)
		if run := s.start(shop{"continued", 1}); run.ID() != third.ID() {
			s.Error("a continuation has lost its key")
		}
	})
}

// TestSingletonReplaces: the live run of the key is cancelled and cleans up, then the newest one begins.
func TestSingletonReplaces(t *testing.T) {
	withSingle(t, true, func(s *single) {
		ctx := s.Context()
		first := s.start(shop{"ann", 1})
		<-time.After(time.Minute)
		second := s.start(shop{"ann", 2})
		<-time.After(time.Second)
		s.status(second.ID(), world.Pending)
		why, err := s.app.Why(ctx, second.ID())
		if err != nil || why.Kind != stepwell.WhyLimit || !strings.Contains(why.String(), "waits for run "+first.ID()+` (running) to end, which had key "ann" of the singleton of workflow sync`) {
			s.Errorf("got %s, %v", why, err)
		}
		for info, err := range s.app.List(ctx, stepwell.ListFilter{Status: []world.Status{world.Pending}}) {
			if err != nil || info.Queue.Behind != first.ID() {
				s.Errorf("listed: %+v, %v", info.Queue, err)
			}
		}
		third := s.start(shop{"ann", 3})
		<-time.After(time.Second)
		s.status(first.ID(), world.Running)
		s.status(second.ID(), world.Cancelled)
		s.status(third.ID(), world.Pending)
		<-time.After(time.Minute)
		s.status(first.ID(), world.Cancelled)
		s.status(third.ID(), world.Running)
		if _, err := first.Result(ctx); !errors.Is(err, stepwell.ErrCancelled) {
			s.Errorf("got %v", err)
		}
		for e, err := range s.app.Events(ctx, first.ID(), stepwell.EventFilter{Types: []world.EventType{world.CancelRequested}}) {
			if err != nil || e.By != second.ID() || e.Reason != "run "+second.ID()+` replaces it, by key "ann" of the singleton of workflow sync` {
				s.Errorf("got %+v, %v", e, err)
			}
		}
		if n, err := third.Result(ctx); n != 3 || err != nil {
			s.Errorf("got %d, %v", n, err)
		}
	})
}

// TestSingletonAgain: what is made of a run of a singleton takes nobody's place.
func TestSingletonAgain(t *testing.T) {
	for _, replace := range []bool{false, true} {
		withSingle(t, replace, func(s *single) {
			ctx := s.Context()
			failed := s.start(shop{"ann", 0})
			if _, err := failed.Result(ctx); err == nil {
				s.Fatal("it did not fail")
			}
			live := s.start(shop{"ann", 2})
			<-time.After(time.Minute)
			for what, again := range map[string]func() (*stepwell.Run[json.RawMessage], error){
				"retry": func() (*stepwell.Run[json.RawMessage], error) { return s.app.Retry(ctx, failed.ID()) },
				"fork": func() (*stepwell.Run[json.RawMessage], error) {
					return s.app.Fork(ctx, failed.ID(), stepwell.ForkOptions{})
				},
				"restart": func() (*stepwell.Run[json.RawMessage], error) {
					return s.app.Restart(ctx, failed.ID(), stepwell.RestartOptions{})
				},
				"restart in place": func() (*stepwell.Run[json.RawMessage], error) {
					return s.app.Restart(ctx, failed.ID(), stepwell.RestartOptions{InPlace: true})
				},
			} {
				if run, err := again(); !errors.Is(err, stepwell.ErrRunExists) || !strings.Contains(err.Error(), live.ID()) {
					s.Errorf("%s: got %v, %v", what, run, err)
				}
			}
			if n, err := live.Result(ctx); n != 2 || err != nil {
				s.Errorf("got %d, %v", n, err)
			}
			// One of another key, and one when nobody is live.
			if _, err := s.app.Restart(ctx, failed.ID(), stepwell.RestartOptions{Input: []byte(`{"name":"bob","n":1}`)}); err != nil {
				s.Error(err)
			}
			if _, err := s.app.Retry(ctx, failed.ID()); err != nil {
				s.Error(err)
			}
		})
	}
}

// TestSingletonRefused: what makes no sense is refused at the definition.
func TestSingletonRefused(t *testing.T) {
	for what, opts := range map[string][]stepwell.WorkflowOption{
		"two":               {stepwell.Singleton{}, stepwell.Singleton{Replace: true}},
		"another input":     {stepwell.Singleton{Key: stepwell.KeyOf(func(n int) string { return "" })}},
		"a key and a path":  {stepwell.Singleton{Key: stepwell.KeyOf(nameOf), By: "name"}},
		"a path of nothing": {stepwell.Singleton{By: "nam"}},
		"its name":          {stepwell.Limit{AtOnce: 1, Name: world.SingleName("bad")}},
	} {
		bad := stepwell.Define("bad", func(stepwell.Context, shop) (int, error) { return 0, nil }, opts...)
		if _, err := stepwell.New(memory.New(), stepwell.Config{Definitions: []stepwell.Definition{bad}}); !errors.Is(err, stepwell.ErrInvalid) {
			t.Errorf("%s: got %v", what, err)
		}
	}
}
