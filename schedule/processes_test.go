package schedule_test

// Real processes are killed with SIGKILL while times are due, and PostgreSQL is restarted as after a crash: each time
// has its one run, or is counted.

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/internal/pgtest"
	"github.com/stepwell/stepwell/schedule"
	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/postgres"
	"github.com/stepwell/stepwell/world/sqlite"
)

// programEnv has this test binary be a program that works on the database that it names.
const programEnv = "STEPWELL_SCHEDULE_PROGRAM"

func TestMain(m *testing.M) {
	if place := os.Getenv(programEnv); place != "" {
		if err := program(place); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	pgtest.Main(m, pgtest.Config{})
}

func openPlace(ctx context.Context, place string) (world.World, error) {
	if strings.HasPrefix(place, "postgres") {
		return postgres.Open(ctx, place)
	}
	return sqlite.Open(place)
}

// briefly is a workflow that takes so many milliseconds.
var briefly = stepwell.Define("briefly", func(ctx stepwell.Context, ms int) (int, error) {
	return ms, stepwell.Sleep(ctx, "work", time.Duration(ms)*time.Millisecond)
})

// program works until its standard input ends.
func program(place string) error {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	go func() { _, _ = io.Copy(io.Discard, os.Stdin); stop() }()
	w, err := openPlace(ctx, place)
	if err != nil {
		return err
	}
	defer func() { _ = w.Close() }()
	app, err := stepwell.New(w, stepwell.Config{
		Definitions: []stepwell.Definition{briefly, schedule.Set("s", 1, schedule.New("queued", briefly, 0, schedule.Times("@every 1s"), schedule.Overlap(schedule.QueueAll)))},
		Lease:       2 * time.Second, Poll: time.Second, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		return err
	}
	return app.Run(ctx)
}

// killed has programs at work on a database, and kills them for a while, each in turn after a part of a second or two.
// between is done once, in the middle. It returns when what was due then has been done something about, and each
// schedule has begun three runs.
func killed(t *testing.T, place string, programs int, burn time.Duration, between func() error) (kills int) {
	t.Helper()
	type running struct {
		cmd   *exec.Cmd
		stdin io.Closer
		ended chan struct{}
	}
	begin := func() running {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), programEnv+"="+place)
		cmd.Stderr = os.Stderr
		stdin, err := cmd.StdinPipe()
		if err == nil {
			err = cmd.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		r := running{cmd, stdin, make(chan struct{})}
		go func() {
			defer close(r.ended)
			_ = cmd.Wait()
		}()
		return r
	}
	all := make([]running, programs)
	for i := range all {
		all[i] = begin()
	}
	defer func() {
		for _, r := range all {
			_ = r.stdin.Close()
			<-r.ended
		}
	}()
	for start := time.Now(); time.Since(start) < burn; kills++ {
		<-time.After(time.Duration(200+rand.IntN(1800)) * time.Millisecond / time.Duration(programs))
		i := kills % programs
		_ = all[i].cmd.Process.Kill()
		<-all[i].ended
		all[i] = begin()
		if between != nil && time.Since(start) > burn/2 {
			if err := between(); err != nil {
				t.Fatal(err)
			}
			between = nil
		}
	}
	w, err := openPlace(t.Context(), place)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = w.Close() }()
	until := time.Now()
	for patience := time.Now().Add(2 * time.Minute); ; <-time.After(200 * time.Millisecond) {
		rows, err := w.Schedules().Schedules(t.Context(), world.ScheduleQuery{})
		if err != nil {
			t.Fatal(err)
		}
		behind := 0
		for _, s := range rows {
			if !s.Is.Next.After(until) || s.Is.Count < 3 {
				behind++
			}
		}
		if behind == 0 && len(rows) == 3 {
			return kills
		}
		for i, r := range all {
			select {
			case <-r.ended: // it began while the database was away; whoever runs programs begins it again
				all[i] = begin()
			default:
			}
		}
		if time.Now().After(patience) {
			t.Fatalf("they do not go on: %+v", rows)
		}
	}
}

// TestKilledProcesses: see the file's head.
func TestKilledProcesses(t *testing.T) {
	for name, test := range map[string]func(t *testing.T) (place string, between func() error){
		"sqlite": func(t *testing.T) (string, func() error) { return filepath.Join(t.TempDir(), "app.db"), nil },
		"postgres": func(t *testing.T) (string, func() error) {
			c := pgtest.New(t, pgtest.Config{}) // fsync as users have it
			return c.URL(t), func() error { return c.Restart(pgtest.Immediate) }
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			place, between := test(t)
			w, err := openPlace(t.Context(), place)
			if err != nil {
				t.Fatal(err)
			}
			app, err := stepwell.New(w, stepwell.Config{Logger: slog.New(slog.DiscardHandler)})
			if err != nil {
				t.Fatal(err)
			}
			for _, s := range []*schedule.Schedule{
				schedule.New("beside", briefly, 0, schedule.Times("* * * * * *"), schedule.Overlap(schedule.Allow), schedule.Jitter(700*time.Millisecond)),
				schedule.New("skips", briefly, 1_500, schedule.Times("@every 1s")),
			} {
				if err := schedule.Put(t.Context(), app, s, "ann"); err != nil {
					t.Fatal(err)
				}
			}
			begin := map[string]time.Time{}
			first, err := schedule.List(t.Context(), app, "", 10)
			if err != nil {
				t.Fatal(err)
			}
			for _, s := range first {
				begin[s.Name] = s.Is.Next
			}
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			kills := killed(t, place, map[string]int{"sqlite": 1, "postgres": 2}[name], 10*time.Second, between)
			if w, err = openPlace(t.Context(), place); err != nil {
				t.Fatal(err)
			}
			defer func() { _ = w.Close() }()
			if app, err = stepwell.New(w, stepwell.Config{Logger: slog.New(slog.DiscardHandler)}); err != nil {
				t.Fatal(err)
			}
			runs := map[string]map[string]bool{"beside": {}, "queued": {}, "skips": {}}
			for r, err := range app.List(t.Context(), stepwell.ListFilter{Workflow: "briefly"}) {
				if err != nil {
					t.Fatal(err)
				}
				name, at := strings.Trim(string(r.Attributes[world.AttributeSchedule]), `"`), strings.Trim(string(r.Attributes[world.AttributeScheduleTime]), `"`)
				if runs[name][at] || r.ID != name+"@"+at {
					t.Errorf("run %s is one too many", r.ID)
				}
				runs[name][at] = true
			}
			rows, err := schedule.List(t.Context(), app, "", 10)
			if err != nil {
				t.Fatal(err)
			}
			for _, s := range rows {
				is := s.Is
				if begin[s.Name].IsZero() {
					begin[s.Name] = s.Made.At.Truncate(time.Second).Add(time.Second)
					if !runs[s.Name][begin[s.Name].Format(time.RFC3339)] { // it was made as a second ended
						begin[s.Name] = begin[s.Name].Add(time.Second)
					}
				}
				times := int(is.Next.Sub(begin[s.Name]) / time.Second)
				t.Logf("%s: %d kills, %d times, %d runs, %d skipped", s.Name, kills, times, is.Count, is.Skipped)
				if is.Count != len(runs[s.Name]) || is.Count+is.Skipped+is.Missed != times || is.Missed != 0 || s.Name != "skips" && is.Skipped != 0 {
					t.Errorf("%s: %d times, %d runs, and it stands so: %+v", s.Name, times, len(runs[s.Name]), is)
				}
			}
		})
	}
}
