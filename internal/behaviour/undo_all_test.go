package behaviour_test

// Undo functions that run, or go, where the code says so.

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/journal"
)

// undoneBy are ways to take undo functions off the stack, and what was done then, by steps and undo functions. Where the
// run does not complete, the error of its function says so.
var undoneBy = map[string]struct {
	code func(ctx stepwell.Context, l *till, undos []*stepwell.Undoing) (string, error)
	did  string
}{
	"all": {func(ctx stepwell.Context, _ *till, _ []*stepwell.Undoing) (string, error) {
		return "refused", stepwell.UndoAll(ctx)
	}, undone},
	"all, twice": {func(ctx stepwell.Context, _ *till, _ []*stepwell.Undoing) (string, error) {
		return "refused", errors.Join(stepwell.UndoAll(ctx), stepwell.UndoAll(ctx))
	}, undone},
	"all, and fails later": {func(ctx stepwell.Context, l *till, _ []*stepwell.Undoing) (string, error) {
		return "", errors.Join(stepwell.UndoAll(ctx), l.undoable(ctx, "d"), errors.New("no stock"))
	}, undone + " d un-d"},
	"all, twice, of one name": {func(ctx stepwell.Context, l *till, _ []*stepwell.Undoing) (string, error) {
		return "refused", errors.Join(stepwell.UndoAll(ctx), l.undoable(ctx, "a"), stepwell.UndoAll(ctx))
	}, undone + " a un-a"},
	"all, and continues": {func(ctx stepwell.Context, _ *till, _ []*stepwell.Undoing) (string, error) {
		return "", errors.Join(stepwell.UndoAll(ctx), stepwell.ContinueAsNew(ctx, "nothing"))
	}, undone + " a b c"},
	"all, in a part that is cancelled": {func(ctx stepwell.Context, _ *till, _ []*stepwell.Undoing) (string, error) {
		part, cancel := stepwell.WithCancel(ctx)
		cancel()
		return "refused", stepwell.UndoAll(part)
	}, undone},
	"all, by two": {func(ctx stepwell.Context, l *till, undos []*stepwell.Undoing) (string, error) {
		all := stepwell.Go(ctx, func(ctx stepwell.Context) (int, error) { return 0, stepwell.UndoAll(ctx) })
		one := stepwell.Go(ctx, func(ctx stepwell.Context) (int, error) { return 0, undos[0].Run(ctx) })
		_, err := stepwell.All(ctx, one, all)
		return "refused", err
	}, undone},
	"all, and fails beside": {func(ctx stepwell.Context, l *till, _ []*stepwell.Undoing) (string, error) {
		stepwell.Go(ctx, func(ctx stepwell.Context) (int, error) { return 0, stepwell.UndoAll(ctx) })
		if err := stepwell.Sleep(ctx, "until un-c has failed once", time.Millisecond); err != nil {
			return "", err
		}
		return "", errors.New("no stock")
	}, undone},
	"all, and continues beside": {func(ctx stepwell.Context, l *till, _ []*stepwell.Undoing) (string, error) {
		stepwell.Go(ctx, func(ctx stepwell.Context) (int, error) { return 0, stepwell.UndoAll(ctx) })
		if err := stepwell.Sleep(ctx, "until un-c has failed once", time.Millisecond); err != nil {
			return "", err
		}
		return "", stepwell.ContinueAsNew(ctx, "nothing")
	}, undone},
	"what was there": {func(ctx stepwell.Context, l *till, _ []*stepwell.Undoing) (string, error) {
		later := stepwell.Go(ctx, func(ctx stepwell.Context) (int, error) {
			return 0, errors.Join(stepwell.Sleep(ctx, "until un-c has failed once", time.Millisecond), l.undoable(ctx, "d"))
		})
		err := stepwell.UndoAll(ctx)
		return "kept d", errors.Join(err, second(later.Get(ctx)))
	}, "a b c d un-c un-b un-a"},
	"one": {func(ctx stepwell.Context, _ *till, undos []*stepwell.Undoing) (string, error) {
		return "", errors.Join(undos[1].Run(ctx), undos[1].Run(ctx), errors.New("no stock"))
	}, "a b c un-b un-c un-a"},
	"none": {func(ctx stepwell.Context, _ *till, undos []*stepwell.Undoing) (string, error) {
		stepwell.DropUndo(ctx)
		return "", errors.Join(undos[0].Run(ctx), errors.New("no stock"))
	}, "a b c"},
	"all that are not dropped": {func(ctx stepwell.Context, _ *till, undos []*stepwell.Undoing) (string, error) {
		undos[2].Drop()
		undos[2].Drop()
		return "refused", errors.Join(stepwell.UndoAll(ctx), undos[2].Run(ctx))
	}, "a b c un-b un-a"},
	"nothing": {func(stepwell.Context, *till, []*stepwell.Undoing) (string, error) { return "kept", nil }, "a b c"},
}

// undoable is a step with its undo.
func (l *till) undoable(ctx stepwell.Context, name string) error {
	return stepwell.Exec(ctx, name, l.do, name, stepwell.Undo("un-"+name, l.do, "un-"+name))
}

// refusal does a, b and c, and undoes them as how says.
func (l *till) refusal() *stepwell.Workflow[string, string] {
	return stepwell.Define("refusal", func(ctx stepwell.Context, how string) (string, error) {
		var undos []*stepwell.Undoing
		for _, name := range []string{"a", "b", "c"} {
			if err := stepwell.Exec(ctx, name, l.do, name); err != nil {
				return "", err
			}
			undos = append(undos, stepwell.AddUndo(ctx, "un-"+name, l.do, "un-"+name, l.retry))
		}
		return undoneBy[how].code(ctx, l, undos)
	})
}

func TestUndoAll(t *testing.T) {
	for how, of := range undoneBy {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			everyWay(t, func(r *rig) {
				l := till{fails: map[string]int{"un-c": 1}}
				wf := l.refusal()
				wk := r.begin(wf)
				run := start(r, wk, wf, how)
				out, err := run.Result(r.ctx)
				if fails := strings.Contains(how, "fails") || how == "all, and continues beside" || how == "one" || how == "none"; fails != (err != nil) || !fails && out == "" {
					r.Errorf("%q, %v", out, err)
				}
				if how == "all, and continues beside" && !errors.Is(err, stepwell.ErrInvalid) {
					r.Errorf("continued while an undo ran: %v", err)
				}
				if got := l.list(); got != of.did {
					r.dump(run.ID())
					r.Errorf("did %q, want %q", got, of.did)
				}
				r.replays(run.ID(), wf)
			})
		})
	}
}

// TestUndoAllIsAnUndoForPeople: while it is tried again, also when the run was cancelled meanwhile, and when it has ended.
func TestUndoAllIsAnUndoForPeople(t *testing.T) {
	everywhere(t, func(r *rig) {
		l := till{fails: map[string]int{"un-b": 8}, retry: stepwell.Retry{Cap: time.Second}}
		wf := l.refusal()
		wk := r.begin(wf)
		run := start(r, wk, wf, "all")
		until(r, "an undo to fail", func() bool { return r.count(run.ID(), world.StepRetrying, "un-b") > 4 })
		why, err := wk.Why(r.ctx, run.ID())
		if err != nil || why.Kind != stepwell.WhyRetry || !why.Undo || !why.UndoNow || !strings.HasPrefix(why.String(), `waiting to try undo "un-b" again`) {
			r.Errorf("why = %s, %v", why, err)
		}
		r.cancel(wk.App, run.ID())
		until(r, "the next failure", func() bool { return r.count(run.ID(), world.StepRetrying, "un-b") > 6 })
		if why, err = wk.Why(r.ctx, run.ID()); err != nil || !strings.Contains(why.String(), `it compensates: waiting to try undo "un-b" again`) {
			r.Errorf("why = %s, %v", why, err)
		}
		wantErr(r, run, world.Cancelled) // as it was asked to, though the code returns a value
		if got := l.list(); got != undone {
			r.Errorf("did %q, want %q", got, undone)
		}
		var seen []string
		for _, en := range entriesOf(r, run.ID()).Entries {
			if en.Undo() && !en.Compensates() {
				seen = append(seen, en.Title())
			}
		}
		if got := strings.Join(seen, " "); got != "un-c un-b un-a" {
			r.Errorf("shown as undo: %s", got)
		}
		r.replays(run.ID(), wf)
	})
}

// An undo that fails for good does not keep the others from running, and the code is told; the handle tells it again.
func TestUndoAllThatFailsForGood(t *testing.T) {
	everyWay(t, func(r *rig) {
		var l till
		wf := stepwell.Define("broken", func(ctx stepwell.Context, _ int) (string, error) {
			stepwell.AddUndo(ctx, "first", l.do, "first")
			limited := stepwell.AddUndo(ctx, "limited", func(context.Context, any) error { return errors.New("broken") }, nil, stepwell.Retry{Attempts: 2})
			stepwell.AddUndo(ctx, "fatal", func(context.Context, any) error { return stepwell.Fatal(errStock) }, nil)
			err := stepwell.UndoAll(ctx)
			if again := limited.Run(ctx); again == nil || !strings.Contains(err.Error(), again.Error()) {
				return "", errors.New("Run does not tell it again")
			}
			if failed, ok := errors.AsType[*stepwell.UndoError](err); !ok || !errors.Is(err, errStock) {
				return "", err
			} else {
				return failed.Undo + ": " + err.Error(), nil
			}
		})
		run := start(r, r.begin(append(known(), wf)...), wf, 0)
		out, err := run.Result(r.ctx)
		if err != nil || !strings.HasPrefix(out, `fatal: undo "fatal" failed`) || !strings.Contains(out, `undo "limited" failed`) {
			r.Errorf("got %q, %v", out, err)
		}
		if l.list() != "first" || r.count(run.ID(), world.StepStarted, "limited") != 2 {
			r.Errorf("did %q; want both attempts, and the other undo", l.list())
		}
	})
}

// A retry of a run that failed behind UndoAll goes on from there, and undoes nothing twice.
func TestARunThatFailedBehindUndoAllIsRetried(t *testing.T) {
	everywhere(t, func(r *rig) {
		var l till
		var fixed atomic.Bool
		wf := stepwell.Define("mended", func(ctx stepwell.Context, _ int) (string, error) {
			err := errors.Join(l.undoable(ctx, "a"), stepwell.UndoAll(ctx))
			if err != nil {
				return "", err
			}
			return "told", stepwell.Exec(ctx, "tell", func(ctx context.Context, what string) error {
				if !fixed.Load() {
					return stepwell.Fatal(errStock)
				}
				return l.do(ctx, what)
			}, "tell")
		})
		wk := r.begin(wf)
		run := start(r, wk, wf, 0)
		wantErr(r, run, world.Failed)
		fixed.Store(true)
		again, err := wk.Retry(r.ctx, run.ID())
		if err != nil {
			r.Fatal(err)
		}
		want(r, wf.Get(wk.App, again.ID()), "told")
		if got, want := l.list(), "a un-a tell"; got != want {
			r.Errorf("did %q, want %q", got, want)
		}
		r.replays(again.ID(), wf)
	})
}

// A step that still runs is told to end before it is undone, and one that has not begun never does. What has no undo
// goes on.
func TestUndoAllOfAStepThatRuns(t *testing.T) {
	everyWay(t, func(r *rig) {
		var b lossy
		undo := stepwell.Undo("refund", b.refund, nil)
		wf := stepwell.Define("order", func(ctx stepwell.Context, _ string) (string, error) {
			var all []*stepwell.Future[string]
			for _, name := range []string{"first", "beside", "second"} {
				all = append(all, stepwell.Go(ctx, func(ctx stepwell.Context) (string, error) {
					if name == "beside" {
						return stepwell.Call(ctx, name, func(_ context.Context, d time.Duration) (string, error) {
							<-time.After(d)
							return "whole", nil
						}, 5*time.Second)
					}
					err := stepwell.Exec(ctx, name, b.charge, "hangs", undo)
					if errors.Is(err, stepwell.ErrCancelled) || strings.Contains(err.Error(), errAnswer.Error()) {
						return "ended", nil
					}
					return "", err
				}))
			}
			if err := stepwell.Sleep(ctx, "a while", time.Second); err != nil {
				return "", err
			}
			if err := stepwell.UndoAll(ctx); err != nil {
				return "", err
			}
			outs, err := stepwell.All(ctx, all...)
			return strings.Join(outs, " "), err
		})
		wk := r.beginWith(stepwell.Config{Definitions: []stepwell.Definition{wf}, MaxSteps: 2})
		run := start(r, wk, wf, "")
		want(r, run, "ended whole ended")
		if got, want := b.says(), "kept 0, undid first 1"; got != want {
			r.dump(run.ID())
			r.Errorf("%s, want %s", got, want)
		}
		r.replays(run.ID(), wf)
	})
}

// Where an undo failed is the line that asked for it, be it a function, a method or an option, and whoever runs it.
func TestUndoSaysWhereItFailed(t *testing.T) {
	everyWay(t, func(r *rig) {
		once := stepwell.Retry{Attempts: 1}
		var lines [3]string
		wf := stepwell.Define("where", func(ctx stepwell.Context, now bool) (int, error) {
			lines = [3]string{line(1), line(2), line(3)}
			stepwell.AddUndo(ctx, "function", unanswered, 1, once)
			stepwell.AddUndo(ctx, "method", (&lossy{}).charge, "fails", once)
			err := stepwell.Do(ctx, "step", nothing, stepwell.Undo("option", unanswered, 1, once))
			if err == nil && now {
				return 0, stepwell.UndoAll(ctx)
			}
			return 0, errors.Join(err, errStock)
		})
		wk := r.begin(wf)
		for _, now := range []bool{true, false} {
			run := start(r, wk, wf, now)
			wantErr(r, run, world.Failed)
			for i, name := range []string{"function", "method", "option"} {
				for _, e := range r.events(run.ID(), world.StepFailed) {
					if en := entriesOf(r, run.ID()).Entry(e.ID); en.Name == name && e.Error.Where != lines[i] {
						r.Errorf("%s, at once %t: failed at %s, want %s", name, now, e.Error.Where, lines[i])
					}
				}
			}
		}
	})
}

// entriesOf is what people see of a run.
func entriesOf(r *rig, run string) *journal.Journal {
	j := journal.New(run, false)
	j.Add(r.events(run)...)
	return j
}

func unanswered(context.Context, int) error { return errAnswer }

// TestKilledWhileItUndoesAll: the worker dies before or after each of its commits; each undo runs, in reverse.
func TestKilledWhileItUndoesAll(t *testing.T) {
	for _, how := range []string{"all, and fails later", "all, by two", "one"} {
		t.Run(how, func(t *testing.T) {
			killedAtEachCommit(t, 7, func(r *rig) (cfg stepwell.Config, id string, check func()) {
				l := &till{fails: map[string]int{"un-c": 1}}
				wf := l.refusal()
				run := start(r, &worker{App: r.client()}, wf, how)
				return stepwell.Config{Definitions: []stepwell.Definition{wf}}, run.ID(), func() {
					_, _ = run.Result(r.ctx)
					if got := l.list(); got != undoneBy[how].did {
						r.dump(run.ID())
						r.Errorf("did %q, want %q", got, undoneBy[how].did)
					}
					r.replays(run.ID(), wf)
				}
			})
		})
	}
}
