package sqlite

// What waits for the disk, and what does not, as SQLite has it in the moment of each COMMIT.

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stepwell/stepwell/world"
)

// The values of PRAGMA synchronous.
const (
	normal = int64(1)
	full   = int64(2)
)

// modeOf asks SQLite itself: nothing prepared, which would tell what was so when it was.
func modeOf(t testing.TB, c *conn) int64 {
	rows, err := c.raw.(driver.QueryerContext).QueryContext(context.Background(), "PRAGMA synchronous", nil)
	if err != nil {
		t.Error(err)
		return -1
	}
	defer func() { _ = rows.Close() }()
	values := make([]driver.Value, 1)
	if err := rows.Next(values); err != nil {
		t.Error(err)
		return -1
	}
	if err := rows.Next(values[:0]); !errors.Is(err, io.EOF) {
		t.Errorf("got %v after the mode, want the end", err)
	}
	mode, _ := values[0].(int64)
	return mode
}

// fault stands between the writer's statements and the file from now on.
func fault(t testing.TB, w *World, f func(g *group, s *statement, run func() error) error) {
	t.Helper()
	if err := w.write(t.Context(), func(g *group) error {
		g.tx.conn().fault = func(s *statement, run func() error) error { return f(g, s, run) }
		return nil
	}); err != nil {
		t.Fatal(err)
	}
}

// wantFull checks a group that must be durable.
func wantFull(t testing.TB, w *World) {
	t.Helper()
	if err := w.write(t.Context(), func(g *group) error {
		if got := modeOf(t, g.tx.conn()); got != full {
			t.Errorf("a durable group: synchronous = %d, want %d", got, full)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
}

func TestWhatWaitsForTheDisk(t *testing.T) {
	t.Parallel()
	w := open(t)
	var modes []int64
	fault(t, w, func(g *group, s *statement, run func() error) error {
		if s == commit {
			modes = append(modes, modeOf(t, g.tx.conn()))
		}
		return run()
	})
	var wk world.Worker
	var task world.Task
	first := int64(2)
	log := func(c *world.Commit) {
		c.ID, c.Run, c.Worker, c.First = commitID(), "r", wk.ID, first
		first += int64(len(c.Events))
		must(t, w, c)
	}
	deliver := func(d *world.Delivery) {
		if _, err := w.Deliver(t.Context(), d); err != nil {
			t.Fatal(err)
		}
	}
	signal := func() {
		deliver(&world.Delivery{Run: "r", ID: fmt.Sprint(len(modes)), Events: []world.Event{{Type: world.SignalReceived, Name: "go", Payload: []byte(`1`)}}})
	}
	claims := func(runs, tasks int) {
		t.Helper()
		got := claim(t, w, wk, 1)
		if len(got.Runs) != runs || len(got.Tasks) != tasks {
			t.Fatalf("took %+v, want %d runs and %d tasks", got, runs, tasks)
		}
		if tasks > 0 {
			task = got.Tasks[0]
		}
	}
	id := world.CorrelationID("r", world.Now(), world.Key{Kind: world.KindTask, Name: "resize"})
	for _, tt := range []struct {
		name string
		want int64
		do   func()
	}{
		{"Join", normal, func() { wk = join(t, w, 0, class1); wk.Steps = []string{"resize"} }},
		{"a birth", full, func() { must(t, w, birthOf("r", "w")) }},
		{"Take of a run", normal, func() { claims(1, 0) }},
		{"a commit with a task", full, func() {
			log(&world.Commit{Claim: 1, Events: []world.Event{
				{Type: world.RunStarted, Time: world.Now()},
				{Type: world.StepCreated, Time: world.Now(), ID: id, Kind: world.KindTask, Name: "resize"},
			}, Tasks: []world.Task{{Run: "r", Step: id, Name: "resize", Workflow: "w", Priority: 1}}})
		}},
		{"Take of a task", full, func() { claims(0, 1) }},
		{"the end of a task", full, func() {
			deliver(&world.Delivery{ID: "end", Worker: wk.ID, Task: &world.TaskKey{Run: "r", Step: id, Attempt: task.Attempt}, Events: []world.Event{
				{Type: world.StepStarted, ID: id, Attempt: 1}, {Type: world.StepCompleted, ID: id, Attempt: 1, Payload: []byte(`1`)},
			}})
		}},
		{"a release", full, func() { log(&world.Commit{Claim: 1, Release: &world.Release{}}) }},
		{"Take of a run with mail", normal, func() { claims(1, 0) }},
		{"a signal", full, signal},
		{"Beat", normal, func() {
			w.crew.mu.Lock()
			w.crew.workers[wk.ID].shown = time.Time{} // it is time to show the lease again
			w.crew.mu.Unlock()
			if _, err := w.Heartbeat(t.Context(), world.HeartbeatQuery{Worker: wk.ID}); err != nil {
				t.Fatal(err)
			}
		}},
		{"Leave", full, func() {
			if err := w.Leave(t.Context(), wk.ID); err != nil {
				t.Fatal(err)
			}
		}},
	} {
		modes = nil
		tt.do()
		if !slices.Equal(modes, []int64{tt.want}) {
			t.Errorf("%s: got commits with synchronous = %d, want one with %d", tt.name, modes, tt.want)
		}
	}
}

// Whoever must be durable is, whoever shares the group.
func TestNoDurableGroupIsLazy(t *testing.T) {
	t.Parallel()
	w := open(t)
	wk := join(t, w, time.Hour, class1)
	groups := make(map[int64]int)
	fault(t, w, func(g *group, s *statement, run func() error) error {
		if s == commit {
			want := normal
			for _, r := range w.writer.batch {
				if !r.lazy {
					want = full
				}
			}
			if got := modeOf(t, g.tx.conn()); got != want {
				t.Errorf("a group of %d: synchronous = %d, want %d", len(w.writer.batch), got, want)
			}
			groups[want]++
		}
		return run()
	})
	heartbeat := func() {
		_, err := askFor(t.Context(), w, true, func(g *group) (int, error) {
			return 0, g.tx.exec(heartbeatWorker, g.workers.key(wk.ID), g.tx.now().Add(time.Hour).UnixMicro())
		})
		if err != nil {
			t.Error(err)
		}
	}
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for j := range 20 {
				if (i+j)%3 > 0 {
					heartbeat()
				} else if _, err := w.Commit(t.Context(), birthOf(fmt.Sprint(i, "-", j), "w")); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	heartbeat()
	must(t, w, birthOf("last", "w"))
	if groups[normal] == 0 || groups[full] == 0 {
		t.Errorf("got %v groups by mode, want some of both", groups)
	}
}

// Whatever fails in or around a lazy group, the next one that must be durable is.
func TestFaultsLeaveNothingLazy(t *testing.T) {
	t.Parallel()
	gone := errors.New("the disk is gone")
	at := func(which *statement, runs bool) func(g *group, s *statement, run func() error) error {
		fired := false
		return func(_ *group, s *statement, run func() error) error {
			if s != which || fired {
				return run()
			}
			fired = true
			if runs {
				_ = run()
			}
			return gone
		}
	}
	lazily := func(w *World, id string) error {
		_, err := askFor(t.Context(), w, true, func(g *group) (int, error) {
			return 0, g.tx.exec(heartbeatWorker, g.workers.key(id), g.tx.now().Add(time.Hour).UnixMicro())
		})
		return err
	}
	for _, tt := range []struct {
		name  string
		fault func(g *group, s *statement, run func() error) error
		lazy  error // of a lazy change
		next  error // of a durable one after it
	}{
		{"to NORMAL, not done", at(syncNormal, false), nil, nil},
		{"to NORMAL, done", at(syncNormal, true), nil, nil},
		{"to FULL, not done", at(syncFull, false), nil, gone},
		{"to FULL, done", at(syncFull, true), nil, gone},
		{"BEGIN", at(begin, false), gone, nil},
		{"a statement", at(heartbeatWorker, false), gone, nil},
		{"COMMIT, not done", at(commit, false), world.ErrUnknownOutcome, nil},
		{"COMMIT, done", at(commit, true), world.ErrUnknownOutcome, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := open(t)
			wk := join(t, w, time.Hour, class1)
			must(t, w, birthOf("before", "w"))
			fault(t, w, func(g *group, s *statement, run func() error) error {
				if got := modeOf(t, g.tx.conn()); s == commit && !lazy(w.writer.batch) && got != full {
					t.Errorf("a durable group: synchronous = %d, want %d", got, full)
				}
				return tt.fault(g, s, run)
			})
			check := func(what string, err, want error) {
				t.Helper()
				if want == nil && err != nil || !errors.Is(err, want) {
					t.Errorf("%s: got error %v, want %v", what, err, want)
				}
			}
			check("lazy", lazily(w, wk.ID), tt.lazy)
			_, err := w.Commit(t.Context(), birthOf("next", "w"))
			check("durable", err, tt.next)
			wantFull(t, w)
			check("lazy, again", lazily(w, wk.ID), nil)
			wantFull(t, w)
			must(t, w, birthOf("after", "w"))
		})
	}
}

// A claim that saw no task is asked for runs alone. Where those are gone when its turn comes, and a task is due by then, it gets the task.
func TestTaskThatFellDueBehindARun(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	now := time.Now()
	pass := func(d time.Duration) time.Time {
		mu.Lock()
		defer mu.Unlock()
		now = now.Add(d)
		return now
	}
	w := open(t, Options{Now: func() time.Time { return pass(0) }})
	wk, other := join(t, w, 24*time.Hour, class1), join(t, w, 24*time.Hour, class1)
	c := eager("r", "w", wk.ID)
	c.Tasks = []world.Task{{Run: "r", Step: "step_1", Name: "resize", Workflow: "w", Visible: pass(0).Add(time.Hour)}}
	must(t, w, c)
	must(t, w, birthOf("due", "w"))
	p := newPause()
	go func() { _ = p.write(w) }()
	<-p.in
	var got [2]world.Claimed
	var errs [2]error
	var wg sync.WaitGroup
	for i, id := range []string{wk.ID, other.ID} {
		wg.Go(func() {
			got[i], errs[i] = w.Claim(context.Background(), world.ClaimQuery{Worker: id, Classes: []world.Class{class1}, Steps: []string{"resize"}, Runs: 1, Tasks: 1})
		})
	}
	waitFor(func() bool { return len(w.requests) == 2 })
	pass(2 * time.Hour)
	close(p.out)
	wg.Wait()
	if err := errors.Join(errs[:]...); err != nil {
		t.Fatal(err)
	}
	if runs, tasks := len(got[0].Runs)+len(got[1].Runs), len(got[0].Tasks)+len(got[1].Tasks); runs != 1 || tasks != 1 {
		t.Errorf("took %d runs and %d tasks, want one of each", runs, tasks)
	}
}
