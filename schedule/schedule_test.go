package schedule_test

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/schedule"
	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/memory"
)

// The time of a bubble begins at midnight, UTC, on the first of January 2000, a Saturday.

func run(t testing.TB, w world.World, definitions ...stepwell.Definition) (app *stepwell.App, stop func()) {
	t.Helper()
	app, err := stepwell.New(w, stepwell.Config{Definitions: definitions, Logger: slog.New(slog.DiscardHandler), Poll: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- app.Run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("run: %v", err)
		}
	})
	t.Cleanup(stop)
	return app, stop
}

// ran are the times of the runs of a workflow, the first one first, and how those stand that did not complete.
func ran(t *testing.T, app *stepwell.App) (all []string) {
	t.Helper()
	for r, err := range app.List(t.Context(), stepwell.ListFilter{Workflow: "report"}) {
		if err != nil {
			t.Fatal(err)
		}
		at, err := time.Parse(`"`+time.RFC3339+`"`, string(r.Attributes[world.AttributeScheduleTime]))
		if err != nil {
			t.Fatalf("run %s: %v", r.ID, err)
		}
		text := at.Format("2 15:04")
		if r.Status != world.Completed {
			text += " " + string(r.Status)
		}
		all = append(all, text)
	}
	slices.Reverse(all)
	return all
}

func want(t *testing.T, app *stepwell.App, runs ...string) {
	t.Helper()
	synctest.Wait()
	if got := ran(t, app); !slices.Equal(got, runs) {
		t.Errorf("got runs of %q, want %q", got, runs)
	}
}

func stands(t *testing.T, app *stepwell.App, name string) world.Schedule {
	t.Helper()
	all, err := schedule.List(t.Context(), app, "", 100)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range all {
		if s.Name == name {
			return s
		}
	}
	t.Fatalf("there is no schedule %s", name)
	return world.Schedule{}
}

// report takes as long as its input says, and fails where that is below zero.
func report() *stepwell.Workflow[int, string] {
	return stepwell.Define("report", func(ctx stepwell.Context, minutes int) (string, error) {
		if minutes < 0 {
			return "", errors.New("no paper")
		}
		fire, _ := schedule.Of(ctx)
		err := stepwell.Sleep(ctx, "work", time.Duration(minutes)*time.Minute)
		return fire.Name + " " + fire.At.Format(time.Kitchen) + " " + fire.Previous.Format(time.Kitchen), err
	})
}

// TestEachTimeHasOneRun: whoever looks, also where several do, and knows which time it is, and which one completed
// before.
func TestEachTimeHasOneRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, of := memory.New(), report()
		nightly := schedule.New("nightly", of, 1, schedule.Times("0 3 * * *", "@at 2000-01-02T12:30:00Z"), schedule.Zone("Europe/Berlin"))
		for range 2 {
			run(t, w, of, schedule.Set("reports", 1, nightly))
		}
		app, _ := run(t, w)
		time.Sleep(2 * 24 * time.Hour)
		want(t, app, "1 02:00", "2 02:00", "2 12:30")
		info, err := app.Get(t.Context(), "nightly@2000-01-02T12:30:00Z")
		if err != nil || string(info.Output) != `"nightly 12:30PM 2:00AM"` {
			t.Errorf("got %s, %v", info.Output, err)
		}
		first, err := app.Get(t.Context(), "nightly@2000-01-01T02:00:00Z")
		if err != nil || string(first.Output) != `"nightly 2:00AM 12:00AM"` || !first.CreatedAt.Equal(time.Date(2000, 1, 1, 2, 0, 0, 0, time.UTC)) {
			t.Errorf("got %s at %s, %v", first.Output, first.CreatedAt, err)
		}
		if s := stands(t, app, "nightly"); s.Is.Count != 3 || !s.Is.Next.Equal(time.Date(2000, 1, 3, 2, 0, 0, 0, time.UTC)) {
			t.Errorf("it stands so: %+v", s.Is)
		}
	})
}

// TestOverlap: what becomes of the times of ten minutes where a run takes 25.
func TestOverlap(t *testing.T) {
	for overlap, times := range map[world.Overlap][]string{
		"":                {"1 00:10", "1 00:40", "1 01:10 running"},
		schedule.Skip:     {"1 00:10", "1 00:40", "1 01:10 running"},
		schedule.QueueOne: {"1 00:10", "1 00:20", "1 00:40 running"},
		schedule.QueueAll: {"1 00:10", "1 00:20", "1 00:30 running"},
		schedule.Cancel:   {"1 00:10 cancelled", "1 00:20 cancelled", "1 00:30 cancelled", "1 00:40 cancelled", "1 00:50 cancelled", "1 01:00 cancelled", "1 01:10 running"},
		schedule.Allow:    {"1 00:10", "1 00:20", "1 00:30", "1 00:40", "1 00:50 running", "1 01:00 running", "1 01:10 running"},
	} {
		t.Run("it is "+string(overlap), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				of := report()
				app, _ := run(t, memory.New(), of, schedule.Set("reports", 1, schedule.New("x", of, 25, schedule.Times("*/10 * * * *"), schedule.Overlap(overlap))))
				time.Sleep(74 * time.Minute)
				want(t, app, times...)
			})
		})
	}
}

// TestCancelWhatIsWaitedFor: a run whose end is waited for already is cancelled as soon as the overlap says so.
func TestCancelWhatIsWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		of := report()
		app, _ := run(t, memory.New(), of)
		put := func(minutes int, overlap world.Overlap) {
			t.Helper()
			s := schedule.New("x", of, minutes, schedule.Times("*/10 * * * *"), schedule.Overlap(overlap))
			if err := schedule.Put(t.Context(), app, s, "me"); err != nil {
				t.Fatal(err)
			}
		}
		put(100_000, schedule.QueueOne)
		time.Sleep(21 * time.Minute)
		put(1, schedule.Cancel)
		time.Sleep(7 * time.Minute)
		want(t, app, "1 00:10 cancelled", "1 00:20")
	})
}

// TestAfterAnOutage: times within the window are caught up, one after the other; older ones are counted.
func TestAfterAnOutage(t *testing.T) {
	for name, test := range map[string]struct {
		opts   []schedule.Option
		runs   []string
		missed int
		passed int
	}{
		"a day of daily ones":       {[]schedule.Option{schedule.Times("0 3 * * *")}, []string{"1 03:00", "4 03:00"}, 2, 0},
		"all of them":               {[]schedule.Option{schedule.Times("0 3 * * *"), schedule.CatchUp(100 * time.Hour), schedule.Overlap(schedule.QueueAll)}, []string{"1 03:00", "2 03:00", "3 03:00", "4 03:00"}, 0, 0},
		"one and the rest skipped":  {[]schedule.Option{schedule.Times("0 * * * *"), schedule.CatchUp(3 * time.Hour)}, []string{"1 01:00", "1 02:00", "1 03:00", "4 02:00"}, 70, 2},
		"the newest, and no others": {[]schedule.Option{schedule.Times("0 * * * *"), schedule.Overlap(schedule.Cancel)}, []string{"1 01:00", "1 02:00", "1 03:00", "4 04:00"}, 49, 23},
		"none":                      {[]schedule.Option{schedule.Times("0 3 * * *"), schedule.CatchUp(time.Second)}, []string{"1 03:00"}, 3, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w, of := memory.New(), report()
				set := schedule.Set("reports", 1, schedule.New("x", of, 1, test.opts...))
				_, stop := run(t, w, of, set)
				time.Sleep(3*time.Hour + 30*time.Minute)
				stop()
				time.Sleep(3*24*time.Hour + time.Hour)
				app, _ := run(t, w, of, set)
				time.Sleep(10 * time.Minute)
				want(t, app, test.runs...)
				if s := stands(t, app, "x"); s.Is.Missed != test.missed || s.Is.Skipped != test.passed {
					t.Errorf("got %d missed, %d skipped, want %d and %d", s.Is.Missed, s.Is.Skipped, test.missed, test.passed)
				}
			})
		})
	}
}

// TestASetIsWhatTheProgramSays: what changes, what is gone, what is older.
func TestASetIsWhatTheProgramSays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, of := memory.New(), report()
		daily, hourly := schedule.New("daily", of, 1, schedule.Times("@daily")), schedule.New("hourly", of, 1, schedule.Times("@hourly"))
		app, stop := run(t, w, of, schedule.Set("reports", 1, daily, hourly))
		time.Sleep(90 * time.Minute)
		stop()
		before := stands(t, app, "hourly")
		app, stop = run(t, w, of, schedule.Set("reports", 2, daily))
		time.Sleep(time.Minute)
		stop()
		gone := stands(t, app, "hourly")
		if gone.Paused == nil || gone.Paused.By != "code" || !strings.Contains(gone.Paused.Reason, "no longer does") || gone.Is.Count != 1 || before.Paused != nil {
			t.Errorf("it stands so: %+v, %+v", gone.Paused, gone.Is)
		}
		older := schedule.Set("reports", 1, schedule.New("daily", of, 1, schedule.Times("@weekly")), hourly)
		app, stop = run(t, w, of, older)
		time.Sleep(2 * time.Hour)
		stop()
		if s := stands(t, app, "daily"); s.Says.Times[0] != "@daily" || s.Revision != 2 {
			t.Errorf("an older program has changed it: %+v", s)
		}
		if s := stands(t, app, "hourly"); s.Paused == nil || s.Is.Count != 1 { // a newer one has it no more
			t.Errorf("it stands so: %+v, %+v", s.Paused, s.Is)
		}
		if err := schedule.Put(t.Context(), app, daily, "ann"); !errors.Is(err, world.ErrConflict) {
			t.Errorf("by hand: got %v", err)
		}
		if err := schedule.Pause(t.Context(), app, "daily", "ann", "holidays"); err != nil {
			t.Fatal(err)
		}
		app, stop = run(t, w, of, schedule.Set("reports", 3, daily, hourly))
		time.Sleep(time.Minute)
		stop()
		if s := stands(t, app, "hourly"); s.Paused != nil {
			t.Errorf("declared again it stands so: %+v", s.Paused)
		}
		if s := stands(t, app, "daily"); s.Paused == nil || s.Paused.Reason != "holidays" {
			t.Errorf("a pause of somebody's is over: %+v", s)
		}
		_, err := stepwell.New(w, stepwell.Config{Definitions: []stepwell.Definition{of, schedule.Set("reports", 1, schedule.New("never", of, 1, schedule.Times("0 0 30 2 *")), daily, daily)}})
		if err == nil || !strings.Contains(err.Error(), "never comes") || !strings.Contains(err.Error(), "daily is there twice") {
			t.Errorf("bad ones: got %v", err)
		}
	})
}

// TestPauseResumeTriggerBackfill: what people do.
func TestPauseResumeTriggerBackfill(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		of := report()
		app, _ := run(t, memory.New(), of)
		hourly := schedule.New("hourly", of, 1, schedule.Times("@hourly"))
		if err := schedule.Put(t.Context(), app, hourly, "ann"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(90 * time.Minute)
		if err := schedule.Pause(t.Context(), app, "hourly", "ann", "holidays"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(3 * time.Hour)
		want(t, app, "1 01:00")
		id, err := schedule.Trigger(t.Context(), app, "hourly")
		if err != nil || !strings.HasPrefix(id, "hourly@2000-01-01T04:30:00Z~") {
			t.Errorf("got %s, %v", id, err)
		}
		if err := schedule.Resume(t.Context(), app, "hourly"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour)
		want(t, app, "1 01:00", "1 04:30", "1 05:00")
		day := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)
		ids, err := schedule.Backfill(t.Context(), app, "hourly", day, day.Add(3*time.Hour))
		if err != nil || len(ids) != 3 {
			t.Errorf("got %q, %v", ids, err)
		}
		if again, err := schedule.Backfill(t.Context(), app, "hourly", day, day.Add(3*time.Hour)); err != nil || len(again) != 0 {
			t.Errorf("again: got %q, %v", again, err)
		}
		for want, do := range map[string]func() error{
			"want a time in the past": func() error {
				_, err := schedule.Backfill(t.Context(), app, "hourly", day, day.Add(90*time.Hour))
				return err
			},
			"want two times": func() error {
				_, err := schedule.Backfill(t.Context(), app, "hourly", day.Add(time.Hour), day)
				return err
			},
			"more than 1000": func() error {
				_, err := schedule.Backfill(t.Context(), app, "hourly", day.Add(-1e4*time.Hour), day)
				return err
			},
			"not found":             func() error { return schedule.Delete(t.Context(), app, "daily") },
			"schedule name":         func() error { return schedule.Pause(t.Context(), app, "a b", "", "") },
			`schedule "daily": not`: func() error { return schedule.Resume(t.Context(), app, "daily") },
		} {
			if err := do(); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("got %v, want %q", err, want)
			}
		}
		if err := schedule.Delete(t.Context(), app, "hourly"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(24 * time.Hour)
		want(t, app, "1 01:00", "1 04:30", "1 05:00", "1 00:00", "1 02:00", "1 03:00")
	})
}

// TestEnds: a number of runs, an end, a failure, an input that does not fit.
func TestEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		of := report()
		begin := time.Now()
		app, _ := run(t, memory.New(), of, schedule.Set("reports", 1,
			schedule.New("two", of, 1, schedule.Times("@every 1h+1m"), schedule.Runs(2)),
			schedule.New("until", of, 1, schedule.Times("@every 1h+2m"), schedule.From(begin.Add(time.Hour)), schedule.Until(begin.Add(2*time.Hour+2*time.Minute))),
			schedule.New("fails", of, -1, schedule.Times("@every 1h+3m"), schedule.PauseOnFailure()),
			schedule.New("jitter", of, 1, schedule.Times("@every 4h"), schedule.Jitter(30*time.Minute)),
			schedule.Computed("computed", of, func(at, previous time.Time) int { return -at.Hour() / 4 }, schedule.Times("@every 4h+5m"), schedule.Runs(1)),
		))
		unfit := stepwell.Define("report", func(ctx stepwell.Context, in string) (string, error) { return in, nil })
		if err := schedule.Put(t.Context(), app, schedule.New("unfit", unfit, "a", schedule.Times("@every 6h")), "ann"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(7 * time.Hour)
		want(t, app, "1 00:01", "1 00:03 failed", "1 00:05", "1 01:01", "1 01:02", "1 02:02", "1 04:00")
		for name, is := range map[string]string{"fails": "run fails@2000-01-01T00:03:00Z did not complete", "unfit": "does not fit"} {
			if s := stands(t, app, name); s.Paused == nil || s.Paused.By != "stepwell" || !strings.Contains(s.Paused.Reason, is) || !s.Is.Due.IsZero() {
				t.Errorf("%s: paused %+v, %+v", name, s.Paused, s.Is)
			}
		}
		jittered, err := app.Get(t.Context(), "jitter@2000-01-01T04:00:00Z")
		if late := jittered.CreatedAt.Sub(begin.Add(4 * time.Hour)); err != nil || late <= 0 || late > 30*time.Minute {
			t.Errorf("it started %s late, %v", late, err)
		}
		if err := schedule.Resume(t.Context(), app, "fails"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Hour)
		if s := stands(t, app, "fails"); s.Is.Count != 2 || s.Paused == nil {
			t.Errorf("resumed: %+v, %+v", s.Paused, s.Is)
		}
	})
}
