package behaviour_test

// This file holds ContinueAsNew: what a new segment of a run keeps, and what is over with the old one.

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/world"
)

// tour is the input of workflows that go on for a number of segments.
type tour struct {
	Left  int    `json:"left"`
	Token string `json:"token,omitempty"`
	Got   string `json:"got,omitempty"`
}

var note = stepwell.Event[string]("note")

// TestContinueAsNewFortyTimes goes on forty times, with a step and a sleep in each segment: the run is one run, and what waits for it waits on.
func TestContinueAsNewFortyTimes(t *testing.T) {
	everyWay(t, func(r *rig) {
		steps := 0
		wf := stepwell.Define("endless", func(ctx stepwell.Context, in tour) (string, error) {
			id, err := stepwell.Step(ctx, "work", func(c context.Context) (string, error) {
				steps++
				return stepwell.Info(c).Step, nil
			})
			if err != nil {
				return "", err
			}
			if err := stepwell.Sleep(ctx, "rest", 10*time.Second); err != nil {
				return "", err
			}
			if in.Left > 0 {
				return "", stepwell.ContinueAsNew(ctx, tour{Left: in.Left - 1})
			}
			return fmt.Sprint(id == ""), nil
		})
		parent := stepwell.Define("parent", func(ctx stepwell.Context, in tour) (string, error) {
			got, err := wf.Child(stepwell.RunID("child")).Run(ctx, in)
			return "child:" + got, err
		})
		run := start(r, r.begin(wf, parent), parent, tour{Left: 40})
		want(r, run, "child:false")
		if steps != 41 {
			r.Errorf("bodies ran %d times, want 41: one a segment", steps)
		}
		if got := r.count("child", world.RunContinued, ""); got != 40 {
			r.Errorf("%d continuations in the log, want 40", got)
		}
		ids := map[string]bool{}
		for _, e := range r.events("child", world.StepCreated) {
			ids[e.ID] = true
		}
		if len(ids) != 41 {
			r.Errorf("%d step IDs, want 41: each segment has its own", len(ids))
		}
		if n, most := commits(r, r.world, "child"), 2+3*41; n > most {
			r.Errorf("%d commits, want at most %d", n, most)
		}
		r.replays("child", wf)
	})
}

// TestContinueAsNewAtOnce continues in the first turn, and again and again with nothing between: each segment is a commit, and a shutdown gets
// through.
func TestContinueAsNewAtOnce(t *testing.T) {
	everywhere(t, func(r *rig) {
		wf := stepwell.Define("hot", func(ctx stepwell.Context, left int) (int, error) {
			if left > 0 {
				return 0, stepwell.ContinueAsNew(ctx, left-1)
			}
			return 7, nil
		})
		app := r.begin(wf)
		run := start(r, app, wf, 5)
		want(r, run, 7)
		if got := r.count(run.ID(), world.RunContinued, ""); got != 5 {
			r.Errorf("%d continuations, want 5", got)
		}
		ever := stepwell.Define("ever", func(ctx stepwell.Context, n int) (int, error) { return 0, stepwell.ContinueAsNew(ctx, n+1) })
		second := r.begin(ever)
		endless := start(r, second, ever, 0)
		for r.count(endless.ID(), world.RunContinued, "") < 4 {
			runtime.Gosched() // time does not pass in a bubble that is never at rest
		}
		second.stop(r)
		if q := r.get(endless.ID()).Queue; q == nil || q.Owner != "" || q.Blocked != nil {
			r.Errorf("after the shutdown the run is %+v, want it to be free", q)
		}
	})
}

// TestContinueAsNewKeepsWhatIsUnread sends before, between and after: each payload is taken once, in order, whichever segment takes it.
func TestContinueAsNewKeepsWhatIsUnread(t *testing.T) {
	everyWay(t, func(r *rig) {
		wf := stepwell.Define("reader", func(ctx stepwell.Context, in tour) (string, error) {
			if err := stepwell.Sleep(ctx, "first", time.Minute); err != nil {
				return "", err
			}
			s, _, err := note.Wait(ctx)
			if err != nil {
				return "", err
			}
			in.Got += s
			if in.Left--; in.Left > 0 {
				return "", stepwell.ContinueAsNew(ctx, in)
			}
			return in.Got, nil
		})
		app := r.begin(wf)
		run := start(r, app, wf, tour{Left: 6})
		send := func(text string) {
			r.Helper()
			if err := note.Send(r.ctx, app.App, run.ID(), text); err != nil {
				r.Fatal(err)
			}
		}
		for _, s := range []string{"a", "b", "c", "d"} { // all in the first segment
			send(s)
		}
		r.pass(150 * time.Second)
		send("e")
		r.pass(10 * time.Minute)
		send("f")
		want(r, run, "abcdef")
		r.enters(run.ID(), 5)
		r.replays(run.ID(), wf)
	})
}

// TestContinueAsNewKeepsHooks lets a hook live through segments, with what it received; a hook that is disposed of in the last turn is closed.
func TestContinueAsNewKeepsHooks(t *testing.T) {
	everyWay(t, func(r *rig) {
		wf := stepwell.Define("listener", func(ctx stepwell.Context, in tour) (string, error) {
			var opts []stepwell.HookOption
			if in.Token != "" {
				opts = append(opts, stepwell.Token(in.Token))
			}
			h, err := stepwell.NewHook[string](ctx, opts...)
			if err != nil {
				return "", err
			}
			in.Token = h.Token()
			if in.Left == 3 {
				own, err := stepwell.NewHook[string](ctx, stepwell.Token("short-lived"))
				if err != nil {
					return "", err
				}
				if err := stepwell.Sleep(ctx, "gather", time.Minute); err != nil {
					return "", err
				}
				if err := own.Dispose(ctx); err != nil {
					return "", err
				}
			} else {
				s, _, err := h.Wait(ctx)
				if err != nil {
					return "", err
				}
				in.Got += s
			}
			if in.Left--; in.Left > 0 {
				return "", stepwell.ContinueAsNew(ctx, in)
			}
			return in.Got, nil
		})
		app := r.begin(wf)
		run := start(r, app, wf, tour{Left: 3})
		until(r, "the hooks", func() bool { return len(r.hooks(run.ID())) == 2 })
		var token string
		for _, h := range r.hooks(run.ID()) {
			if h.Token != "short-lived" {
				token = h.Token
			}
		}
		for _, s := range []string{`"x"`, `"y"`} {
			if err := app.SendHook(r.ctx, token, []byte(s)); err != nil {
				r.Fatal(err)
			}
		}
		want(r, run, "xy")
		r.enters(run.ID(), 2)
		if err := app.SendHook(r.ctx, "short-lived", []byte(`1`)); !errors.Is(err, stepwell.ErrTerminal) {
			r.Errorf("send to the disposed hook = %v, want that its run is over", err)
		}
		r.replays(run.ID(), wf)
	})
}

func (r *rig) hooks(run string) []world.HookRow {
	r.Helper()
	rows, err := r.world.Hooks(r.ctx, world.HookQuery{Run: run})
	if err != nil {
		r.Fatal(err)
	}
	return rows
}

// TestContinueAsNewKeepsTheRest holds what else a run keeps: ID, key, priority, retention, attributes, seed's independence, its age.
func TestContinueAsNewKeepsTheRest(t *testing.T) {
	everyWay(t, func(r *rig) {
		wf := stepwell.Define("keeper", func(ctx stepwell.Context, left int) (string, error) {
			if left == 2 {
				if err := stepwell.SetAttribute(ctx, "tenant", "acme"); err != nil {
					return "", err
				}
			}
			if err := stepwell.SetAttribute(ctx, "left", left); err != nil {
				return "", err
			}
			if left > 0 {
				return "", stepwell.ContinueAsNew(ctx, left-1)
			}
			return ctx.RunID(), nil
		})
		app := r.begin(wf)
		run := start(r, app, wf, 2, stepwell.RunID("kept"), stepwell.Key("k"), stepwell.Priority(4), stepwell.Retention(time.Hour))
		want(r, run, "kept")
		got := r.get("kept")
		if got.Key != "k" || got.Priority != 4 || got.Retention != stepwell.Span(time.Hour) {
			r.Errorf("key %q, priority %d, retention %s; want k, 4, 1h", got.Key, got.Priority, got.Retention)
		}
		attrs := map[string]string{}
		for k, v := range got.Attributes {
			attrs[k] = string(v)
		}
		if diff := cmp.Diff(map[string]string{"tenant": `"acme"`, "left": "0"}, attrs); diff != "" {
			r.Errorf("attributes (want -, got +):\n%s", diff)
		}
		again := start(r, app, wf, 2, stepwell.Key("k"))
		if !again.Existed() || again.ID() != "kept" {
			r.Errorf("the key gives run %s, existed %v; want kept", again.ID(), again.Existed())
		}
	})
}

// TestContinueAsNewEndsWhatIsOpen: a step that runs gets a context that ends, its result is dropped, a queued task is taken back, an attached
// child is cancelled and a detached one goes on, a wait is over.
func TestContinueAsNewEndsWhatIsOpen(t *testing.T) {
	everywhere(t, func(r *rig) {
		cause := make(chan error, 1)
		task := stepwell.DefineStep("later", func(context.Context, int) (int, error) { return 1, nil })
		child := stepwell.Define("child", func(ctx stepwell.Context, _ int) (int, error) { return 0, stepwell.Sleep(ctx, "long", time.Minute) })
		wf := stepwell.Define("leaver", func(ctx stepwell.Context, left int) (int, error) {
			if left == 0 {
				return 5, stepwell.Sleep(ctx, "second", 2*time.Minute)
			}
			child.Child(stepwell.RunID("attached")).Start(ctx, 0)
			child.Child(stepwell.RunID("detached"), stepwell.Detached()).Start(ctx, 0)
			stepwell.Go(ctx, func(ctx stepwell.Context) (int, error) {
				return stepwell.Step(ctx, "slow", func(c context.Context) (int, error) {
					<-c.Done()
					cause <- context.Cause(c)
					return 1, nil
				})
			})
			stepwell.Go(ctx, func(ctx stepwell.Context) (bool, error) {
				_, ok, err := note.Wait(ctx, stepwell.Timeout(time.Minute))
				return ok, err
			})
			task.Start(ctx, 1)
			if err := stepwell.Sleep(ctx, "first", time.Second); err != nil {
				return 0, err
			}
			return 0, stepwell.ContinueAsNew(ctx, left-1)
		})
		run := start(r, r.begin(wf, child, task), wf, 1)
		want(r, run, 5)
		if err := <-cause; !errors.Is(err, stepwell.ErrRunOver) {
			r.Errorf("the step's context ended with %v, want ErrRunOver", err)
		}
		if got := r.get("attached").Status; got != world.Cancelled {
			r.Errorf("attached child is %s, want cancelled", got)
		}
		until(r, "the detached child", func() bool { return r.get("detached").Status.Terminal() })
		if got := r.get("detached").Status; got != world.Completed {
			r.Errorf("detached child is %s, want completed", got)
		}
		r.replays(run.ID(), wf, child, task)
	})
}

// TestContinueAsNewTakesTheHighestVersion: unless told; a version that no worker here knows waits for one that does.
func TestContinueAsNewTakesTheHighestVersion(t *testing.T) {
	everyWay(t, func(r *rig) {
		define := func(v int) *stepwell.Workflow[tour, string] {
			return stepwell.Define("moving", func(ctx stepwell.Context, in tour) (string, error) {
				in.Got += fmt.Sprint(v)
				if err := stepwell.Sleep(ctx, "rest", 10*time.Second); err != nil {
					return "", err
				}
				switch in.Left--; in.Left {
				case 2:
					return "", stepwell.ContinueAsNew(ctx, in)
				case 1:
					return "", stepwell.ContinueAsNew(ctx, in, stepwell.Version(1))
				case 0:
					return "", stepwell.ContinueAsNew(ctx, in, stepwell.Version(3))
				}
				return in.Got, nil
			}, stepwell.Version(v))
		}
		one, two, three := define(1), define(2), define(3)
		first := r.begin(one, two)
		run := start(r, first, one, tour{Left: 3})
		until(r, "version 3", func() bool { return r.get(run.ID()).Version == 3 })
		if q := r.get(run.ID()).Queue; q == nil || q.Blocked != nil {
			r.Errorf("with no worker for version 3 the run is %+v, want it to wait", q)
		}
		first.stop(r)
		r.begin(three)
		want(r, run, "1213")
		r.replays(run.ID(), three)
	})
}

// TestContinueAsNewRefuses what cannot be an input, and goes on after it; a cancelled run ends.
func TestContinueAsNewRefuses(t *testing.T) {
	everyWay(t, func(r *rig) {
		wf := stepwell.Define("refused", func(ctx stepwell.Context, n int) (string, error) {
			for _, bad := range []error{
				stepwell.ContinueAsNew(ctx, "no number"),
				stepwell.ContinueAsNew(ctx, 1, stepwell.Version(-1)),
			} {
				if !errors.Is(bad, stepwell.ErrInvalid) {
					return "", fmt.Errorf("a bad continuation is %w, want invalid", bad)
				}
			}
			if err := stepwell.ContinueAsNew(ctx, func() {}); err == nil {
				return "", errors.New("a function was taken as input")
			}
			err := stepwell.Sleep(ctx, "wait", time.Hour)
			if !errors.Is(stepwell.ContinueAsNew(ctx, 1), stepwell.ErrCancelled) {
				return "", errors.New("a cancelled run continued")
			}
			return "", errors.Join(err, stepwell.ContinueAsNew(ctx.Uncancelled(), 1))
		})
		app := r.begin(wf)
		run := start(r, app, wf, 0)
		if err := app.Cancel(r.ctx, run.ID(), "enough"); err != nil {
			r.Fatal(err)
		}
		wantErr(r, run, world.Cancelled)
		if n := r.count(run.ID(), world.RunContinued, ""); n != 0 {
			r.Errorf("%d continuations, want none", n)
		}
	})
}

// TestContinueAsNewDiverges in a later segment: the report says so, nothing is lost, and a rollback heals it. What the code of segments before does
// now is nobody's business.
func TestContinueAsNewDiverges(t *testing.T) {
	everywhere(t, func(r *rig) {
		define := func(early, late string) *stepwell.Workflow[int, string] {
			return stepwell.Define("changing", func(ctx stepwell.Context, n int) (string, error) {
				name := early
				if n > 0 {
					name = late
				}
				s, err := stepwell.Step(ctx, name, func(context.Context) (string, error) { return name, nil })
				if err != nil {
					return "", err
				}
				if n == 0 {
					return "", stepwell.ContinueAsNew(ctx, 1)
				}
				return s, stepwell.Sleep(ctx, "rest", time.Minute)
			})
		}
		first := r.begin(define("a", "b"))
		run := start(r, first, define("a", "b"), 0)
		until(r, "the second segment to rest", func() bool { return r.count(run.ID(), world.WaitCreated, "") == 1 })
		first.stop(r)
		second := r.begin(define("a", "other"))
		r.pass(time.Minute)
		b := r.blocked(run.ID())
		if b.Code != world.CodeDiverged || !strings.Contains(b.Message, `step "b"`) || !strings.Contains(b.Message, `step "other"`) {
			r.Errorf("blocked as %s: %s", b.Code, b.Message)
		}
		second.stop(r)
		r.begin(define("changed since", "b"))
		want(r, run, "b")
	})
}

// TestContinueAsNewReplaysALongLog loads a run whose segments fill more than a page of its log.
func TestContinueAsNewReplaysALongLog(t *testing.T) {
	onWorlds(t, func(r *rig) {
		const segments, steps = 6, 100
		wf := stepwell.Define("long", func(ctx stepwell.Context, in tour) (string, error) {
			for range steps {
				if err := stepwell.Do(ctx, "s", func(context.Context) error { return nil }); err != nil {
					return "", err
				}
			}
			if in.Left > 0 {
				return "", stepwell.ContinueAsNew(ctx, tour{Left: in.Left - 1})
			}
			s, _, err := note.Wait(ctx)
			if err != nil {
				return "", err
			}
			last, _, err := note.Wait(ctx)
			return s + last, err
		})
		app := r.begin(wf)
		run := start(r, app, wf, tour{Left: segments})
		if err := note.Send(r.ctx, app.App, run.ID(), "early"); err != nil {
			r.Fatal(err)
		}
		until(r, "the last wait", func() bool { return r.count(run.ID(), world.WaitCreated, "note") == 2 })
		app.stop(r)
		second := r.begin(wf)
		if err := note.Send(r.ctx, second.App, run.ID(), "late"); err != nil {
			r.Fatal(err)
		}
		want(r, run, "earlylate")
		if n := len(r.events(run.ID())); n < 3*segments*steps {
			r.Errorf("%d events, want more than two pages", n)
		}
	})
}
