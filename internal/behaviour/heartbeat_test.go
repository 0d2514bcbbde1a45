package behaviour_test

// Heartbeats: what the next attempt reads of what the one before said, what they cost, and what becomes of a body that sends none.

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/internal/faults"
	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/journal"
)

// page is how far a step of these tests is.
type page struct {
	Page int    `json:"page"`
	Of   string `json:"of"`
}

// everyStep makes of a body a closure that runs in place, and a step that is queued beside it; the workflow is of one of them.
func everyStep[Out any](t *testing.T, body func(r *rig, ctx context.Context) (Out, error), test func(r *rig, wf *stepwell.Workflow[int, Out], defs []stepwell.Definition), opts ...stepwell.StepOption) {
	t.Run("in place", func(t *testing.T) {
		everywhere(t, func(r *rig) {
			wf := stepwell.Define("pages", func(ctx stepwell.Context, _ int) (Out, error) {
				return stepwell.Step(ctx, "read", func(ctx context.Context) (Out, error) { return body(r, ctx) }, opts...)
			})
			test(r, wf, []stepwell.Definition{wf})
		})
	})
	t.Run("queued", func(t *testing.T) {
		everywhere(t, func(r *rig) {
			task := stepwell.DefineStep("read", func(ctx context.Context, _ int) (Out, error) { return body(r, ctx) }, defining(opts)...)
			wf := stepwell.Define("pages", func(ctx stepwell.Context, _ int) (Out, error) {
				rest := stepwell.Go(ctx, func(ctx stepwell.Context) (int, error) {
					return 0, stepwell.Do(ctx, "first", func(ctx context.Context) error { <-time.After(time.Millisecond); return nil })
				})
				f := stepwell.Go(ctx, func(ctx stepwell.Context) (Out, error) { return task.Run(ctx, 0) })
				out, err := f.Get(ctx)
				_, failed := rest.Get(ctx)
				return out, errors.Join(err, failed)
			})
			test(r, wf, []stepwell.Definition{wf, task})
		})
	})
}

// TestProgressOfABodyThatDies: the next attempt, on another worker, reads what was durable when the first one died.
func TestProgressOfABodyThatDies(t *testing.T) {
	var mortals sync.Map // by rig
	everyStep(t, func(r *rig, ctx context.Context) (string, error) {
		at, ok, err := stepwell.Progress[page](ctx)
		if err != nil {
			return "", err
		}
		if ok {
			return fmt.Sprint("attempt ", stepwell.Info(ctx).Attempt, " goes on from page ", at.Page, " of ", at.Of), nil
		}
		for i := range 3 {
			if err := stepwell.HeartbeatNow(ctx, page{i + 1, "book"}); err != nil {
				return "", err
			}
		}
		if err := stepwell.Heartbeat(ctx, page{4, "book, which nobody hears of"}); err != nil {
			return "", err
		}
		m, _ := mortals.Load(r)
		m.(*faults.World).Kill()
		<-ctx.Done()
		return "", context.Cause(ctx)
	}, func(r *rig, wf *stepwell.Workflow[int, string], defs []stepwell.Definition) {
		m := r.beginMortal(stepwell.Config{Definitions: defs}, 1000, false)
		mortals.Store(r, m.World)
		run, err := wf.Start(r.ctx, r.client(defs...), 0)
		if err != nil {
			r.Fatal(err)
		}
		until(r.T, "the death", func() bool {
			_, err := m.World.Events(r.ctx, run.ID(), world.EventQuery{})
			return errors.Is(err, world.ErrClosed)
		})
		r.begin(defs...)
		m.stop()
		want(r, run, "attempt 2 goes on from page 3 of book")
		r.replays(run.ID(), defs...)
	})
}

// TestProgressOfAnAttemptThatFails: what was said last goes with the commit that ends the attempt.
func TestProgressOfAnAttemptThatFails(t *testing.T) {
	everyStep(t, func(_ *rig, ctx context.Context) (int, error) {
		at, _, err := stepwell.Progress[int](ctx)
		if err != nil || at >= 3 {
			return at, err
		}
		if err := stepwell.Heartbeat(ctx, at+1); err != nil {
			return 0, err
		}
		if now, ok, err := stepwell.Progress[int](ctx); !ok || now != at+1 || err != nil {
			return 0, stepwell.Fatal(fmt.Errorf("progress of this attempt = %d, %t, %w", now, ok, err))
		}
		return 0, errors.New("the line is cut")
	}, func(r *rig, wf *stepwell.Workflow[int, int], defs []stepwell.Definition) {
		wk := r.begin(defs...)
		run := start(r, wk, wf, 0)
		want(r, run, 3)
		if list, err := wk.Streams(r.ctx, run.ID()); err != nil || len(list) > 0 {
			r.Errorf("streams = %v, %v, want none that people see", list, err)
		}
		r.replays(run.ID(), defs...)
	}, stepwell.Retry{Attempts: stepwell.Unlimited})
}

// TestHeartbeatsCostNothingMore: a step that does not take long costs as many commits as without.
func TestHeartbeatsCostNothingMore(t *testing.T) {
	everywhere(t, func(r *rig) {
		wf := stepwell.Define("five", func(ctx stepwell.Context, _ int) (int, error) {
			for range 5 {
				if err := stepwell.Do(ctx, "say", func(ctx context.Context) error {
					return errors.Join(stepwell.Heartbeat(ctx, 1), stepwell.Heartbeat(ctx, 2))
				}, stepwell.HeartbeatTimeout(time.Minute)); err != nil {
					return 0, err
				}
			}
			return 5, nil
		})
		run := start(r, r.begin(wf), wf, 0)
		want(r, run, 5)
		r.cost(run.ID(), 1, 6)
		if n := r.appends(); n != 0 {
			r.Errorf("%d appends beside the commits, want none", n)
		}
	})
}

// TestHeartbeatsAreWrittenSeldom: a heartbeat each 100 ms for a minute is written after a second, and then each ten; people see the last one that is.
func TestHeartbeatsAreWrittenSeldom(t *testing.T) {
	everyStep(t, func(_ *rig, ctx context.Context) (int, error) {
		for i := range 605 {
			if err := stepwell.Heartbeat(ctx, i); err != nil {
				return 0, err
			}
			<-time.After(100 * time.Millisecond)
		}
		return 605, nil
	}, func(r *rig, wf *stepwell.Workflow[int, int], defs []stepwell.Definition) {
		wk := r.begin(defs...)
		run := start(r, wk, wf, 0)
		entry := func() *journal.Entry {
			s, err := wk.Story(r.ctx, run.ID(), false)
			if err != nil {
				r.Fatal(err)
			}
			for _, en := range s.Journal.Entries {
				if en.Name == "read" {
					return en
				}
			}
			return &journal.Entry{}
		}
		r.pass(12 * time.Second)
		if p := entry().Progress; p == nil || p.Attempt != 1 || string(p.Value) < "109" || len(p.Value) != 3 || time.Since(p.At) > 2*time.Second {
			r.Errorf("progress after 12 s = %+v, want what was said after 11", p)
		}
		want(r, run, 605)
		if n := r.appends(); n != 6 && n != 7 {
			r.Errorf("%d appends in 60.5 s, want 6 or 7", n)
		}
		if p := entry().Progress; p != nil {
			r.Errorf("progress of a step that has completed = %+v", p)
		}
	})
}

// TestHeartbeatTimeout: a body that says nothing for so long has its context ended, at that moment and not before; it fails with a code of its own, and the
// next attempt goes on from what it had said.
func TestHeartbeatTimeout(t *testing.T) {
	everyStep(t, func(_ *rig, ctx context.Context) (string, error) {
		at, ok, err := stepwell.Progress[int](ctx)
		if err != nil {
			return "", err
		}
		if ok {
			return fmt.Sprint("from ", at), nil
		}
		began := time.Now()
		for i := range 10 {
			<-time.After(4 * time.Second)
			if err := stepwell.Heartbeat(ctx, i); err != nil {
				return "", err
			}
		}
		<-ctx.Done()
		if d := time.Since(began); d != 45*time.Second || context.Cause(ctx) != stepwell.ErrHeartbeat {
			return "", stepwell.Fatal(fmt.Errorf("ended after %s: %w", d, context.Cause(ctx)))
		}
		return "", errors.New("the bank hangs")
	}, func(r *rig, wf *stepwell.Workflow[int, string], defs []stepwell.Definition) {
		run := start(r, r.begin(defs...), wf, 0)
		want(r, run, "from 9")
		e := r.events(run.ID(), world.StepRetrying)
		if len(e) != 1 || e[0].Error.Code != world.CodeHeartbeat || e[0].Error.Message != "no heartbeat for 5s: the bank hangs" {
			r.dump(run.ID())
			r.Errorf("retries = %v, want one with code HEARTBEAT", e)
		}
		r.replays(run.ID(), defs...)
	}, stepwell.HeartbeatTimeout(5*time.Second))
}

// TestHeartbeatTimeoutFailsTheStep: the code can tell; a value that came all the same counts.
func TestHeartbeatTimeoutFailsTheStep(t *testing.T) {
	everywhere(t, func(r *rig) {
		wf := stepwell.Define("silent", func(ctx stepwell.Context, late bool) (string, error) {
			out, err := stepwell.Step(ctx, "read", func(ctx context.Context) (string, error) {
				<-ctx.Done()
				if late {
					return "all the same", nil
				}
				return "", context.Cause(ctx)
			}, stepwell.HeartbeatTimeout(time.Second), stepwell.Retry{Attempts: 2})
			if err == nil {
				return out, nil
			}
			var e *stepwell.StepError
			return fmt.Sprint(errors.As(err, &e), errors.Is(err, stepwell.ErrHeartbeat), errors.Is(err, stepwell.ErrTimeout), " ", e.Code), nil
		})
		wk := r.begin(wf)
		silent, late := start(r, wk, wf, false), start(r, wk, wf, true)
		want(r, silent, "true true false HEARTBEAT")
		want(r, late, "all the same")
		r.replays(silent.ID(), wf)
	})
}

// TestHeartbeatsThatAreRefused before anything is kept.
func TestHeartbeatsThatAreRefused(t *testing.T) {
	everywhere(t, func(r *rig) {
		var behind context.Context
		wf := stepwell.Define("refused", func(ctx stepwell.Context, _ int) ([]string, error) {
			got, err := stepwell.Step(ctx, "say", func(ctx context.Context) (errs []string, err error) {
				behind = ctx
				for _, err := range []error{
					stepwell.Heartbeat(ctx, strings.Repeat("x", world.MaxProgress)), stepwell.Heartbeat(ctx, func() {}), stepwell.HeartbeatNow(context.Background(), 1),
				} {
					errs = append(errs, fmt.Sprint(errors.Is(err, stepwell.ErrTooLarge), errors.Is(err, stepwell.ErrInvalid)))
				}
				_, ok, err := stepwell.Progress[int](ctx)
				return append(errs, fmt.Sprint(ok, err)), nil
			})
			if err != nil {
				return nil, err
			}
			err = stepwell.Do(ctx, "never", func(context.Context) error { return nil }, stepwell.HeartbeatTimeout(0))
			return append(got, fmt.Sprint(errors.Is(err, stepwell.ErrInvalid))), nil
		})
		run := start(r, r.begin(wf), wf, 0)
		got, err := run.Result(r.ctx)
		if diff := cmp.Diff([]string{"true false", "false true", "false true", "false <nil>", "true"}, got); diff != "" || err != nil {
			r.Errorf("%v (-want +got):\n%s", err, diff)
		}
		if err := stepwell.Heartbeat(behind, 1); !errors.Is(err, stepwell.ErrInvalid) {
			r.Errorf("a heartbeat behind the end of the body = %v, want ErrInvalid", err)
		}
	})
}

// TestProgressAtEveryKill: before and after each commit and each write of a stream, the worker dies; no attempt stands before what an earlier one was told is
// durable, and the pages are read in order.
func TestProgressAtEveryKill(t *testing.T) {
	t.Parallel()
	for _, op := range []faults.Op{faults.Commit, faults.Append, faults.Deliver} {
		for _, after := range []bool{false, true} {
			for k := 1; ; k++ {
				died := true
				bubble(t, kinds[0].open, modes[1].set, func(r *rig) {
					var durable sync.Map // by step
					body := func(ctx context.Context) (int, error) {
						at, _, err := stepwell.Progress[int](ctx)
						if err != nil {
							return 0, err
						}
						info := stepwell.Info(ctx)
						if was, _ := durable.LoadOrStore(info.Step, 0); at < was.(int) {
							return 0, stepwell.Fatal(fmt.Errorf("attempt %d reads %d, and %d was durable", info.Attempt, at, was))
						}
						for at++; at <= 4; at++ {
							if err := stepwell.HeartbeatNow(ctx, at); err != nil {
								return 0, err
							}
							if durable.Store(info.Step, at); at == 2 && info.Attempt == 1 {
								return 0, errors.New("the line is cut")
							}
						}
						return at, nil
					}
					task := stepwell.DefineStep("queued", func(ctx context.Context, _ int) (int, error) { return body(ctx) })
					wf := stepwell.Define("pages", func(ctx stepwell.Context, _ int) (int, error) {
						a, err := stepwell.Step(ctx, "place", body, stepwell.HeartbeatTimeout(time.Minute))
						if err != nil {
							return 0, err
						}
						nap := stepwell.Go(ctx, func(ctx stepwell.Context) (int, error) {
							return 0, stepwell.Do(ctx, "beside", func(context.Context) error { <-time.After(time.Second); return nil })
						})
						b, err := task.Run(ctx, 0)
						_, failed := nap.Get(ctx)
						return a + b, errors.Join(err, failed)
					})
					run, err := wf.Start(r.ctx, r.client(wf, task), 0)
					if err != nil {
						r.Fatal(err)
					}
					if died = diesAt(r, stepwell.Config{Definitions: []stepwell.Definition{wf, task}, CacheRuns: -1}, run.ID(), op, k, after); died {
						r.begin(wf, task)
					}
					want(r, run, 10)
				})
				if !died {
					if least := map[faults.Op]int{faults.Commit: 5, faults.Append: 8, faults.Deliver: 1}[op]; k < least {
						t.Errorf("%s: died at %d calls, want %d and more", op, k-1, least-1)
					}
					break
				}
			}
		}
	}
}

func TestProgressOnEachStore(t *testing.T) {
	shared(t, "heartbeats: the next attempt reads what the one before said last")
}
