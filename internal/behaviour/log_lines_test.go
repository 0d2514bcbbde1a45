package behaviour_test

// What is said without anybody having asked: each line names run, workflow, step, the cause and what to do; ten thousand of them fill no disk.

import (
	"context"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/internal/faults"
	"github.com/stepwell/stepwell/world"
)

// said is a log that keeps what it is told.
type said struct {
	mu    sync.Mutex
	lines []saidLine // guarded by mu
}

// saidLine is a record, its attributes as text.
type saidLine struct {
	level slog.Level
	msg   string
	has   map[string]string
}

func (l saidLine) String() string { return fmt.Sprint(l.level, " ", l.msg, " ", l.has) }

func (s *said) Enabled(context.Context, slog.Level) bool { return true }
func (s *said) WithGroup(string) slog.Handler            { return s }
func (s *said) WithAttrs(as []slog.Attr) slog.Handler    { return &saidOf{s, as} }

func (s *said) Handle(_ context.Context, r slog.Record) error {
	l := saidLine{r.Level, r.Message, map[string]string{}}
	r.Attrs(func(a slog.Attr) bool {
		l.has[a.Key] = a.Value.Resolve().String()
		return true
	})
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lines = append(s.lines, l)
	return nil
}

// saidOf is said with attributes.
type saidOf struct {
	*said
	attrs []slog.Attr
}

func (s *saidOf) Handle(ctx context.Context, r slog.Record) error {
	r = r.Clone()
	r.AddAttrs(s.attrs...)
	return s.said.Handle(ctx, r)
}

// of are the lines of a level and a message.
func (s *said) of(level slog.Level, msg string) (list []saidLine) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, l := range s.lines {
		if l.level == level && l.msg == msg {
			list = append(list, l)
		}
	}
	return list
}

// want wants a number of warnings, the first of which has these attributes, or contains them where they end in an ellipsis.
func (s *said) want(t testing.TB, msg string, n int, has map[string]string) {
	t.Helper()
	lines := s.of(slog.LevelWarn, msg)
	if len(lines) != n {
		s.mu.Lock()
		all := slices.Clone(s.lines)
		s.mu.Unlock()
		t.Fatalf("%q was said %d times, want %d: %v", msg, len(lines), n, all)
	}
	for k, v := range has {
		got := lines[0].has[k]
		if part, cut := strings.CutSuffix(v, "…"); got != v && !(cut && strings.Contains(got, part)) {
			t.Errorf("%q: %s is %q, want %q", msg, k, got, v)
		}
	}
}

// logged is a rig's worker that says what it says to a log.
func (r *rig) logged(w world.World, defs ...stepwell.Definition) (*worker, *said) {
	r.Helper()
	log := &said{}
	cfg := stepwell.Config{Definitions: defs, Logger: slog.New(log), Lease: 10 * time.Second}
	r.mode(&cfg)
	wk := begin(r.T, w, cfg)
	synctest.Wait()
	return wk, log
}

func TestABlockedRunIsSaid(t *testing.T) {
	everywhere(t, func(r *rig) {
		wf := stepwell.Define("release", func(stepwell.Context, int) (int, error) { panic("no such city") })
		wk, log := r.logged(r.world, wf)
		run, err := wf.Start(r.ctx, wk.App, 0, stepwell.RunID("r1"))
		if err != nil {
			r.Fatal(err)
		}
		r.pass(3500 * time.Millisecond) // tried at once, after 1 s and after 2 s more
		log.want(r, "run is blocked", 3, map[string]string{
			"run_id": "r1", "workflow.name": "release", "workflow.version": "1", "reason": "PANIC", "tries": "1",
			"err": "no such city…", "hint": "Deploy the fix, and the run continues by itself; nothing is lost. More: stepwell runs show r1",
		})
		for _, l := range log.of(slog.LevelWarn, "run is blocked") {
			if strings.ContainsAny(l.has["err"], "\n\t") {
				r.Errorf("the cause has more than one line: %q", l.has["err"])
			}
		}
		if err := wk.Cancel(r.ctx, run.ID(), ""); err != nil {
			r.Fatal(err)
		}
	})
}

func TestADivergedRunIsSaid(t *testing.T) {
	across(t, kinds[:1], modes[:1], func(r *rig) {
		wf := goodDeploy.define()
		wk := r.beginWith(stepwell.Config{Definitions: []stepwell.Definition{wf}, Build: "4f1c2aa"})
		run := start(r, wk, wf, struct{}{}, stepwell.RunID("r1"))
		r.pass(time.Second)
		wk.stop(r)
		bad := deploy{"bad", release(add("other", 1), add("b", 10))}.define()
		wk, log := r.logged(r.world, bad)
		r.pass(5500 * time.Millisecond) // from the 1st second: it sleeps until the 5th, and is tried then and 1 s later
		log.want(r, "run is blocked", 2, map[string]string{
			"reason": "DIVERGED", "err": `the code no longer matches its log (event 3); the log has step "a"…`, "hint": `Deploy code that asks for "a" here…`,
		})
		if err := wk.Cancel(r.ctx, run.ID(), ""); err != nil {
			r.Fatal(err)
		}
	})
}

func TestAFailedRunIsSaid(t *testing.T) {
	everywhere(t, func(r *rig) {
		wf := stepwell.Define("order", func(ctx stepwell.Context, _ int) (int, error) {
			_, err := stepwell.Step(ctx, "charge", func(context.Context) (int, error) {
				return 0, stepwell.Fatal(errors.New("card refused"))
			})
			return 0, fmt.Errorf("the order: %w", err)
		}, stepwell.Version(3))
		wk, log := r.logged(r.world, wf)
		run := start(r, wk, wf, 0, stepwell.RunID("r1"))
		wantErr(r, run, world.Failed)
		log.want(r, "run failed", 1, map[string]string{
			"run_id": "r1", "workflow.name": "order", "workflow.version": "3", "step.name": "charge", "where": "log_lines_test.go:…",
			"err": `the order: step "charge": card refused`, "hint": "To see what you can do: stepwell runs show r1",
		})
	})
}

// TestAllCausesOfAFailureAreSaid: of an error that joins several the line has each.
func TestAllCausesOfAFailureAreSaid(t *testing.T) {
	across(t, kinds[:1], modes[:1], func(r *rig) {
		wf := stepwell.Define("order", func(stepwell.Context, int) (int, error) {
			return 0, errors.Join(errors.New("the parcel is not sent"), errors.New("the bank is away"))
		})
		wk, log := r.logged(r.world, wf)
		wantErr(r, start(r, wk, wf, 0, stepwell.RunID("r1")), world.Failed)
		log.want(r, "run failed", 1, map[string]string{"run_id": "r1", "err": "the parcel is not sent; the bank is away"})
	})
}

// TestManyFailuresAreSaidSeldom: ten lines, what was left out at the end of the minute, and all of them at the level debug. Another workflow's line is not lost among them.
func TestManyFailuresAreSaidSeldom(t *testing.T) {
	across(t, kinds[:1], modes[:1], func(r *rig) {
		const runs = 10_000
		many := stepwell.Define("many", func(stepwell.Context, int) (int, error) { return 0, errors.New("no") })
		one := stepwell.Define("one", func(stepwell.Context, int) (int, error) { return 0, errors.New("no") })
		wk, log := r.logged(r.world, many, one)
		for range runs {
			if _, err := many.Start(r.ctx, wk.App, 0); err != nil {
				r.Fatal(err)
			}
		}
		wantErr(r, start(r, wk, one, 0, stepwell.RunID("the-one")), world.Failed)
		until(r, "all to fail", func() bool {
			return len(log.of(slog.LevelWarn, "run failed"))+len(log.of(slog.LevelDebug, "run failed")) == runs+1
		})
		log.want(r, "run failed", 11, map[string]string{"workflow.name": "many"})
		r.pass(time.Minute + time.Second)
		log.want(r, "lines were left out", 1, map[string]string{"left_out": strconv.Itoa(runs - 10), "what": "run failed", "workflow.name": "many"})
		wantErr(r, start(r, wk, many, 0), world.Failed)
		log.want(r, "run failed", 12, nil)
	})
}

// TestWhatNobodyHasIsSaid: a workflow, a version, a child and a step that no live worker has, each once a minute.
func TestWhatNobodyHasIsSaid(t *testing.T) {
	onWorlds(t, func(r *rig) {
		elsewhere := stepwell.DefineStep("resize", func(context.Context, int) (int, error) { return 0, nil })
		child := stepwell.Define("thumbnail", func(stepwell.Context, int) (int, error) { return 0, nil })
		asks := stepwell.Define("album", func(ctx stepwell.Context, _ int) (int, error) {
			waits := child.Child().Start(ctx, 1)
			if _, err := elsewhere.Run(ctx, 1); err != nil {
				return 0, err
			}
			return waits.Get(ctx)
		}, stepwell.Version(2))
		const workflow, step = "no live worker has a workflow that was started", "no live worker has a step that a run needs"
		there, log := r.logged(r.world, asks)
		start(r, there, asks, 0, stepwell.RunID("r1"))
		r.pass(10 * time.Second)
		log.want(r, step, 1, map[string]string{"step.name": "resize", "run_id": "r1", "workers": "1", "hint": "Start a worker with it in Config.Definitions…"})
		log.want(r, workflow, 1, map[string]string{"workflow.name": "thumbnail", "workers": "1"})

		asked := &said{}
		client, err := stepwell.New(r.world, stepwell.Config{Logger: slog.New(asked)})
		if err != nil {
			r.Fatal(err)
		}
		begin := func(name string, version int) {
			if _, err := client.Start(r.ctx, name, []byte("0"), stepwell.Version(version)); err != nil {
				r.Fatal(err)
			}
		}
		begin("album", 0)
		asked.want(r, workflow, 0, nil)
		begin("album", 1)
		begin("album", 1)
		asked.want(r, workflow, 1, map[string]string{"workflow.name": "album", "workflow.version": "1", "versions": "[2]"})
		r.pass(time.Minute)
		begin("album", 1)
		begin("albun", 0)
		asked.want(r, workflow, 3, nil)

		// Who waits for a run of its own workflow, and works nowhere, is told as well.
		waits := &said{}
		idle, err := stepwell.New(r.world, stepwell.Config{Logger: slog.New(waits), Definitions: []stepwell.Definition{child}})
		if err != nil {
			r.Fatal(err)
		}
		run, err := child.Start(r.ctx, idle, 0, stepwell.RunID("w1"))
		if err != nil {
			r.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(r.ctx, 20*time.Second)
		defer cancel()
		if _, err := run.Result(ctx); err == nil {
			r.Error("nobody has it, and it has a result")
		}
		waits.want(r, workflow, 1, map[string]string{"workflow.name": "thumbnail", "run_id": "w1"})
	})
}

func TestALostLeaseIsSaid(t *testing.T) {
	across(t, kinds[:1], modes[:1], func(r *rig) {
		wf := stepwell.Define("naps", func(ctx stepwell.Context, _ int) (int, error) {
			return stepwell.Step(ctx, "long", func(ctx context.Context) (int, error) {
				select {
				case <-ctx.Done():
					return 0, ctx.Err()
				case <-time.After(time.Minute):
					return 1, nil
				}
			})
		})
		w := faults.New(r.world, nil)
		wk, log := r.logged(w, wf)
		run := start(r, wk, wf, 0)
		if err := w.Evict(r.ctx); err != nil {
			r.Fatal(err)
		}
		want(r, run, 1)
		log.want(r, "the lease of this worker is lost", 1, map[string]string{"held": "1", "hint": "Other workers continue its runs, and it joins again.…"})
	})
}

// TestADatabaseThatIsAwayIsSaid: once when it goes, once a minute meanwhile, once when it is back.
func TestADatabaseThatIsAwayIsSaid(t *testing.T) {
	across(t, kinds[:1], modes[:1], func(r *rig) {
		from := time.Now().Add(time.Minute)
		to := from.Add(150 * time.Second)
		w := faults.New(r.world, func(faults.Call) (f faults.Fault) {
			if now := time.Now(); now.After(from) && now.Before(to) {
				f.Err = fmt.Errorf("%w: connection refused", world.ErrStorage)
			}
			return f
		})
		wf := stepwell.Define("waits", func(ctx stepwell.Context, _ int) (int, error) { return 1, stepwell.Sleep(ctx, "nap", time.Second) })
		wk, log := r.logged(w, wf)
		r.at(from, 10*time.Second)
		log.want(r, "the database is away", 1, map[string]string{"err": "connection refused…", "hint": "Retried until …"})
		r.at(to, 10*time.Second)
		log.want(r, "the database is away", 1, nil)
		log.want(r, "the database is still away", 2, nil)
		log.want(r, "the database is back", 1, nil)
		want(r, start(r, wk, wf, 0), 1)
	})
}

// TestTheDefaultLogger: without a Logger warnings go to slog.Default, and so does all that workflow code says. It is not parallel: that logger is the process's.
func TestTheDefaultLogger(t *testing.T) {
	log0, flags, to := slog.Default(), log.Flags(), log.Writer()
	t.Cleanup(func() {
		slog.SetDefault(log0)
		log.SetFlags(flags)
		log.SetOutput(to)
	})
	std := &said{}
	bubble(t, kinds[0].open, modes[0].set, func(r *rig) {
		wf := stepwell.Define("order", func(ctx stepwell.Context, _ int) (int, error) {
			ctx.Logger().Info("so far")
			return 0, errors.New("card refused")
		})
		wk := r.begin(wf)
		slog.SetDefault(slog.New(std)) // later than New
		wantErr(r, start(r, wk, wf, 0, stepwell.RunID("r1")), world.Failed)
	})
	std.want(t, "run failed", 1, map[string]string{"run_id": "r1"})
	if own := std.of(slog.LevelInfo, "so far"); len(own) != 1 || own[0].has["run_id"] != "r1" {
		t.Errorf("the workflow's own words: %v", own)
	}
	if n := len(std.lines); n != 2 {
		t.Errorf("%d lines, want 2: %v", n, std.lines)
	}
}
