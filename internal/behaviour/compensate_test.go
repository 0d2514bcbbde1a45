package behaviour_test

// Undo functions: in reverse, once each, whatever is killed.

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/internal/sample"
	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/memory"
)

// till is what steps and undos did, once for each idempotency key.
type till struct {
	mu    sync.Mutex
	did   []string            // guarded by mu
	keys  map[string]struct{} // guarded by mu
	fails map[string]int      // guarded by mu: attempts of these undos that fail
	retry stepwell.Retry      // of undos
}

func (l *till) do(ctx context.Context, what string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.fails[what] > 0 {
		l.fails[what]--
		return errors.New("the bank is closed")
	}
	info := stepwell.Info(ctx)
	if _, known := l.keys[info.IdempotencyKey]; known {
		return nil
	}
	if l.keys == nil {
		l.keys = map[string]struct{}{}
	}
	l.keys[info.IdempotencyKey] = struct{}{}
	l.did = append(l.did, what)
	return nil
}

func (l *till) list() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Join(l.did, " ")
}

// saga does a, b and c, each with its undo, and comes to its end as how says.
func (l *till) saga() *stepwell.Workflow[string, string] {
	return stepwell.Define("saga", func(ctx stepwell.Context, how string) (string, error) {
		undos := map[string]*stepwell.Undoing{}
		for _, name := range []string{"a", "b", "c"} {
			if err := stepwell.Do(ctx, name, func(ctx context.Context) error { return l.do(ctx, name) }); err != nil {
				return "", err
			}
			undos[name] = stepwell.AddUndo(ctx, "un-"+name, l.do, "un-"+name, l.retry)
		}
		switch how {
		case "completes":
			return "done", nil
		case "does not encode":
			return "", stepwell.ContinueAsNew(ctx, "completes")
		case "keeps b":
			undos["b"].Drop()
			undos["b"].Drop() // it is gone already
		case "cancelled":
			if err := stepwell.Sleep(ctx, "long", time.Hour); errors.Is(err, stepwell.ErrCancelled) {
				return "as if nothing had been", nil
			}
		case "sleeps":
			return "done", stepwell.Sleep(ctx, "long", time.Minute)
		case "cancelled, and continues":
			if err := stepwell.Sleep(ctx, "long", time.Hour); errors.Is(err, stepwell.ErrCancelled) {
				return "", stepwell.ContinueAsNew(ctx, "completes")
			}
		case "undoes all":
			return "refused", stepwell.UndoAll(ctx)
		case "panics":
			panic("no stock")
		}
		return "", errors.New("no stock")
	}, stepwell.FailOn(stepwell.Panics))
}

const undone = "a b c un-c un-b un-a"

func TestCompensateInReverse(t *testing.T) {
	for how, want := range map[string]string{
		"completes": "a b c", "fails": undone, "keeps b": "a b c un-c un-a", "does not encode": undone,
	} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			everyWay(t, func(r *rig) {
				var l till
				wf := l.saga()
				run := start(r, r.begin(wf), wf, how)
				if how == "completes" {
					completes(r, run, "done")
				} else if e := wantErr(r, run, world.Failed); how == "does not encode" != errors.Is(e, stepwell.ErrInvalid) {
					r.Errorf("error = %v", e)
				}
				if got := l.list(); got != want {
					r.Errorf("did %q, want %q", got, want)
				}
				r.replays(run.ID(), wf)
			})
		})
	}
}

// completes is want, where that name is taken.
func completes[Out any](r *rig, run *stepwell.Run[Out], out Out) { r.Helper(); want(r, run, out) }

// A cancel that the code swallows is one all the same. One that comes while it compensates changes nothing but how the run ends.
func TestCompensateWhenCancelled(t *testing.T) {
	everywhere(t, func(r *rig) {
		for when, how := range map[string]string{"before": "cancelled", "before it continues": "cancelled, and continues", "while": "fails"} {
			var l till
			l.fails = map[string]int{"un-b": 8}
			l.retry = stepwell.Retry{Cap: time.Second} // each time is seen by a poll, and none of them takes long
			wf := l.saga()
			wk := r.begin(wf)
			run := start(r, wk, wf, how)
			if when != "while" {
				until(r, "the sleep", func() bool { return r.count(run.ID(), world.WaitCreated, "") == 1 })
				r.cancel(wk.App, run.ID())
			}
			until(r, "an undo to fail", func() bool { return r.count(run.ID(), world.StepRetrying, "un-b") > 4 })
			if when == "while" {
				why, err := wk.Why(r.ctx, run.ID())
				if err != nil || why.Kind != stepwell.WhyRetry || !why.Undo || !strings.HasPrefix(why.String(), `compensating, because its code failed: waiting to try undo "un-b" again`) {
					r.Errorf("why = %s, %v", why, err)
				}
				r.cancel(wk.App, run.ID())
				until(r, "the cancel", func() bool { return r.count(run.ID(), world.CancelRequested, "") == 1 })
			}
			until(r, "the next failure", func() bool { return r.count(run.ID(), world.StepRetrying, "un-b") > 5 })
			why, err := wk.Why(r.ctx, run.ID())
			if err != nil || why.Kind != stepwell.WhyCancelling || !strings.Contains(why.String(), `it compensates: waiting to try undo "un-b" again`) || !strings.Contains(why.String(), "the bank is closed") {
				r.Errorf("why = %s, %v", why, err)
			}
			wantErr(r, run, world.Cancelled)
			if got := l.list(); got != undone {
				r.Errorf("did %q, want %q", got, undone)
			}
			r.replays(run.ID(), wf)
			wk.stop(r.T)
		}
	})
}

// TestCompensateWhenCancelledInAPause: what fell due in the pause comes first, and may bring the code to its end. The
// run is cancelled all the same, and undoes what it did.
func TestCompensateWhenCancelledInAPause(t *testing.T) {
	everyWay(t, func(r *rig) {
		var l till
		wf := l.saga()
		wk := r.begin(wf)
		run := start(r, wk, wf, "sleeps")
		until(r, "the sleep", func() bool { return r.count(run.ID(), world.WaitCreated, "") == 1 })
		r.pause(wk.App, run.ID())
		r.pass(2 * time.Minute)
		r.cancel(wk.App, run.ID())
		wantErr(r, run, world.Cancelled)
		if got := l.list(); got != undone {
			r.Errorf("did %q, want %q", got, undone)
		}
		r.replays(run.ID(), wf)
	})
}

// An undo whose policy gives it up does not keep the others from running, and the run's error says both.
func TestCompensateThatFailsForGood(t *testing.T) {
	everyWay(t, func(r *rig) {
		var l till
		broken := errors.New("broken")
		wf := stepwell.Define("broken", func(ctx stepwell.Context, _ int) (int, error) {
			stepwell.AddUndo(ctx, "first", l.do, "first")
			stepwell.AddUndo(ctx, "limited", func(context.Context, any) error { return broken }, nil, stepwell.Retry{Attempts: 2})
			stepwell.AddUndo(ctx, "fatal", func(context.Context, any) error { return stepwell.Fatal(errStock) }, nil)
			return 0, errors.New("what began it")
		})
		cfg := stepwell.Config{Definitions: known(wf)}
		run := start(r, r.beginWith(cfg), wf, 0)
		err := wantErr(r, run, world.Failed)
		for _, part := range []string{"what began it", `undo "limited" failed`, "broken", `undo "fatal" failed`} {
			if !strings.Contains(err.Error(), part) {
				r.Errorf("error = %v, want %q in it", err, part)
			}
		}
		if !errors.Is(err, errStock) || l.list() != "first" || r.count(run.ID(), world.StepStarted, "limited") != 2 {
			r.Errorf("error = %v, did %q; want both attempts, the sentinel, and the other undo", err, l.list())
		}
	})
}

// A run that takes too long is undone too, and so is a child whose parent is over: neither was asked by anybody.
func TestCompensateWhoeverEndsTheRun(t *testing.T) {
	everywhere(t, func(r *rig) {
		for ended, want := range map[string]world.Status{"by its timeout": world.Failed, "with its parent": world.Cancelled} {
			var l till
			wf := l.saga()
			parent := stepwell.Define("parent", func(ctx stepwell.Context, _ int) (int, error) {
				wf.Child(stepwell.RunID("saga-of-its-parent")).Start(ctx, "cancelled")
				return 0, stepwell.Sleep(ctx, "short", time.Minute)
			})
			wk := r.begin(wf, parent)
			run := wf.Get(wk.App, "saga-of-its-parent")
			if ended == "by its timeout" {
				run = start(r, wk, wf, "cancelled", stepwell.Timeout(time.Minute))
			} else {
				start(r, wk, parent, 0)
				until(r, "the child", func() bool { _, err := r.world.Run(r.ctx, run.ID()); return err == nil })
			}
			if e := wantErr(r, run, want); want == world.Failed != errors.Is(e, stepwell.ErrTimeout) {
				r.Errorf("ended %s: %v", ended, e)
			}
			if got := l.list(); got != undone {
				r.Errorf("ended %s: did %q, want %q", ended, got, undone)
			}
			r.replays(run.ID(), wf)
			wk.stop(r.T)
		}
	})
}

// A step that runs beside the one that fails may finish yet: its undo runs too. What waits is cancelled.
func TestCompensateWaitsForStepsThatRun(t *testing.T) {
	everywhere(t, func(r *rig) {
		var l till
		wf := stepwell.Define("beside", func(ctx stepwell.Context, _ int) (int, error) {
			stepwell.AddUndo(ctx, "un-first", l.do, "un-first")
			stepwell.Go(ctx, func(ctx stepwell.Context) (int, error) {
				err := stepwell.Do(ctx, "slow", func(ctx context.Context) error {
					<-ctx.Done()
					<-time.After(2 * time.Second)
					return l.do(context.WithoutCancel(ctx), "slow")
				})
				if err == nil {
					stepwell.AddUndo(ctx, "un-slow", l.do, "un-slow")
				}
				return 0, stepwell.Do(ctx, "never", func(ctx context.Context) error { return l.do(ctx, "never") })
			})
			if err := stepwell.Sleep(ctx, "short", time.Second); err != nil {
				return 0, err
			}
			return 0, errors.New("no stock")
		})
		run := start(r, r.begin(wf), wf, 0)
		wantErr(r, run, world.Failed)
		if got, want := l.list(), "slow un-slow un-first"; got != want {
			r.Errorf("did %q, want %q", got, want)
		}
		r.replays(run.ID(), wf)
	})
}

// endings are how the saga that is killed comes to its end: its code fails; it is cancelled before that; or
// while it compensates already; or it undoes all and
// completes, or is cancelled meanwhile.
var endings = map[string]struct {
	how  string // the saga's input
	ends world.Status
}{
	"fails":                               {"fails", world.Failed},
	"panics":                              {"panics", world.Failed},
	"cancelled":                           {"cancelled", world.Cancelled},
	"cancelled midway":                    {"fails", world.Cancelled},
	"undoes all":                          {"undoes all", world.Completed},
	"undoes all, and is cancelled midway": {"undoes all", world.Cancelled},
}

// TestKilledWhileItCompensates: the worker dies before or after its k-th commit, for each k; another one goes on.
func TestKilledWhileItCompensates(t *testing.T) {
	for ending := range endings {
		for _, after := range sample.OneFor(t, ending, false, true) {
			t.Run(fmt.Sprintf("%s/after=%t", ending, after), func(t *testing.T) {
				t.Parallel()
				k := 1
				for ; killedWhileCompensating(t, ending, k, after); k++ {
				}
				if k < 8 {
					t.Errorf("the worker was killed at %d commits, want at least 8", k)
				}
			})
		}
	}
}

func killedWhileCompensating(t *testing.T, ending string, k int, after bool) (killed bool) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		var l till
		l.fails = map[string]int{"un-b": 2}
		wf := l.saga()
		cfg := stepwell.Config{Definitions: []stepwell.Definition{wf}, Strict: k%2 == 0}
		r := &rig{T: t, world: memory.New(), mode: modes[0].set, ctx: t.Context()}
		run, err := wf.Start(r.ctx, r.client(wf), endings[ending].how, stepwell.RunID("saga"))
		if err != nil {
			t.Fatal(err)
		}
		ripe := map[string]func() bool{ // when it is cancelled
			"panics":                              func() bool { return true },
			"fails":                               func() bool { return true },
			"cancelled":                           func() bool { return r.count("saga", world.WaitCreated, "") == 1 },
			"cancelled midway":                    func() bool { return r.count("saga", world.StepRetrying, "un-b") > 0 },
			"undoes all":                          func() bool { return true },
			"undoes all, and is cancelled midway": func() bool { return r.count("saga", world.StepRetrying, "un-b") > 0 },
		}[ending]
		over := func() bool { return r.get("saga").Status.Terminal() }
		first := r.beginMortal(cfg, k, after)
		until(t, "a death, or a cancel", func() bool { return first.died.Load() || ripe() })
		if endings[ending].ends == world.Cancelled && !first.died.Load() {
			r.cancel(r.client(), "saga")
		}
		until(t, "a death, or the end", func() bool { return first.died.Load() || over() })
		first.stop()
		killed = first.died.Load()
		wk := r.beginWith(cfg)
		if endings[ending].ends == world.Cancelled && !over() {
			until(t, "the time for a cancel", ripe)
			r.cancel(wk.App, "saga")
		}
		if endings[ending].ends == world.Completed {
			completes(r, run, "refused")
		} else {
			wantErr(r, run, endings[ending].ends)
		}
		if got := l.list(); got != undone {
			r.dump("saga")
			t.Errorf("killed at commit %d: did %q, want %q", k, got, undone)
		}
		var ends []string
		names := map[string]string{}
		for _, e := range r.events("saga") {
			if e.Type == world.StepCreated {
				names[e.ID] = e.Name
			}
			if e.Type == world.StepCompleted {
				ends = append(ends, names[e.ID])
			}
		}
		if want := strings.Fields(undone); !slices.Equal(ends, want) {
			t.Errorf("killed at commit %d: ended %v, want %v", k, ends, want)
		}
		r.replays("saga", wf)
		wk.stop(t)
	})
	return killed
}
