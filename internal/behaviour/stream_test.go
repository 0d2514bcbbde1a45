package behaviour_test

// Streams: what they cost, what readers see of steps that are tried again, and what becomes of them when a worker dies.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/internal/faults"
	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/memory"
)

// said reads a stream to its end, in short.
func (r *rig) said(app *stepwell.App, run, name string, from int64) (all []string) {
	r.Helper()
	for c, err := range app.ReadStream(r.ctx, run, name, from) {
		switch {
		case err != nil:
			all = append(all, err.Error())
		case c.Reset:
			all = append(all, fmt.Sprintf("reset from %d", c.From))
		default:
			all = append(all, string(c.Value))
		}
	}
	return all
}

// says ends the test unless a stream is, from its beginning to its end, as told.
func (r *rig) says(app *stepwell.App, run, name string, want ...string) {
	r.Helper()
	if diff := cmp.Diff(want, r.said(app, run, name, 0)); diff != "" {
		r.dump(run)
		r.Errorf("stream %s (-want +got):\n%s", name, diff)
	}
}

func (r *rig) appends() int64 {
	r.Helper()
	s, err := r.world.Stats(r.ctx)
	if err != nil {
		r.Fatal(err)
	}
	return s.Counters.Appends
}

// TestStreamCostsNothingMore: a workflow of 5 serial steps that write to one stream is 1 claim, and as many commits as without.
func TestStreamCostsNothingMore(t *testing.T) {
	everywhere(t, func(r *rig) {
		wf := stepwell.Define("five", func(ctx stepwell.Context, _ int) (int, error) {
			for i := range 5 {
				if err := stepwell.Do(ctx, "say", func(ctx context.Context) error {
					out := stepwell.Stream[int](ctx, "numbers")
					return errors.Join(out.Write(2*i), out.Write(2*i+1))
				}); err != nil {
					return 0, err
				}
			}
			return 5, stepwell.CloseStream(ctx, "numbers")
		})
		wk := r.begin(wf)
		run := start(r, wk, wf, 0)
		want(r, run, 5)
		r.cost(run.ID(), 1, 6)
		if n := r.appends(); n != 0 {
			r.Errorf("%d appends beside the commits, want none", n)
		}
		r.says(wk.App, run.ID(), "numbers", "0", "1", "2", "3", "4", "5", "6", "7", "8", "9")
		r.replays(run.ID(), wf)
	})
}

// telling writes from its own code, before and behind whatever may make it run again.
var telling = stepwell.Define("telling", func(ctx stepwell.Context, _ int) (string, error) {
	if err := stepwell.WriteStream(ctx, "news", "begins"); err != nil {
		return "", err
	}
	for i := range 2 {
		if err := stepwell.Do(ctx, "work", func(context.Context) error { return nil }); err != nil {
			return "", err
		}
		if err := stepwell.WriteStream(ctx, "news", fmt.Sprint("worked ", i)); err != nil {
			return "", err
		}
	}
	if err := stepwell.Sleep(ctx, "rest", time.Minute); err != nil {
		return "", err
	}
	return "done", stepwell.WriteStream(ctx, "news", "rested")
})

// TestStreamOfWorkflowCode: what the code writes is written once, however often the code runs again.
func TestStreamOfWorkflowCode(t *testing.T) {
	everywhere(t, func(r *rig) {
		wk := r.begin(telling)
		run := start(r, wk, telling, 0)
		want(r, run, "done")
		r.cost(run.ID(), 2, 4)
		r.says(wk.App, run.ID(), "news", `"begins"`, `"worked 0"`, `"worked 1"`, `"rested"`)
		r.replays(run.ID(), telling)
	})
}

// TestStreamOfAWorkerThatDies: before and after each of its commits, of the code's own writes nothing is lost and nothing is there twice.
func TestStreamOfAWorkerThatDies(t *testing.T) {
	t.Parallel()
	for _, after := range []bool{false, true} {
		for k := 1; ; k++ {
			died := true
			bubble(t, kinds[0].open, modes[1].set, func(r *rig) {
				run, err := telling.Start(r.ctx, r.client(telling), 0)
				if err != nil {
					r.Fatal(err)
				}
				cfg := stepwell.Config{Definitions: []stepwell.Definition{telling}, CacheRuns: -1}
				if died = dies(r, cfg, run.ID(), k, after); died {
					r.begin(telling)
				}
				want(r, run, "done")
				r.says(r.client(), run.ID(), "news", `"begins"`, `"worked 0"`, `"worked 1"`, `"rested"`)
			})
			if !died {
				if k < 4 {
					t.Errorf("died at %d commits, want more", k-1)
				}
				break
			}
		}
	}
}

// dies lets a worker work that dies before its k-th commit, or after it, until that or the run's end, and reports which it was.
func dies(r *rig, cfg stepwell.Config, run string, k int, after bool) bool {
	r.Helper()
	return diesAt(r, cfg, run, faults.Commit, k, after)
}

// diesAt is the same for calls of a kind.
func diesAt(r *rig, cfg stepwell.Config, run string, op faults.Op, k int, after bool) bool {
	r.Helper()
	m := r.beginMortalAt(cfg, op, k, after)
	until(r.T, "a death, or the end", func() bool { return m.died.Load() || r.get(run).Status.Terminal() })
	m.stop()
	return m.died.Load()
}

// TestStreamOfManyAttemptsHasOneReset: who reads a stream from its beginning when all is over is told once that there was more.
func TestStreamOfManyAttemptsHasOneReset(t *testing.T) {
	everywhere(t, func(r *rig) {
		wf := stepwell.Define("thrice", func(ctx stepwell.Context, _ int) (int, error) {
			return stepwell.Step(ctx, "say", func(ctx context.Context) (int, error) {
				n := stepwell.Info(ctx).Attempt
				out := stepwell.Stream[int](ctx, "numbers")
				if err := errors.Join(out.Write(n), out.Flush()); err != nil || n < 3 {
					return 0, errors.Join(err, errors.New("broken off"))
				}
				return n, nil
			})
		})
		wk := r.begin(wf)
		run := start(r, wk, wf, 0)
		want(r, run, 3)
		r.says(wk.App, run.ID(), "numbers", "reset from 0", "3")
	})
}

// TestStreamOfAStepThatIsTriedAgain: an attempt makes void what the ones before wrote, unless it keeps it; to readers a reset says so. Who fails has
// closed nothing.
func TestStreamOfAStepThatIsTriedAgain(t *testing.T) {
	for _, c := range []struct {
		name string
		keep int
		live []string // what a reader sees that is there from the beginning
		late []string // and one that comes later
	}{
		{"anew", -1, []string{"1", "2", "reset from 0", "3"}, []string{"reset from 0", "3"}},
		{"some kept", 1, []string{"1", "2", "reset from 1", "3"}, []string{"1", "reset from 1", "3"}},
		{"all kept", 2, []string{"1", "2", "3"}, []string{"1", "2", "3"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			bubble(t, kinds[0].open, modes[0].set, func(r *rig) {
				wf := stepwell.Define("twice", func(ctx stepwell.Context, _ int) (int, error) {
					return stepwell.Step(ctx, "say", func(ctx context.Context) (int, error) {
						out := stepwell.Stream[int](ctx, "numbers")
						if stepwell.Info(ctx).Attempt == 1 {
							err := errors.Join(out.Write(1), out.Flush(), out.Write(2), out.Close())
							return 0, errors.Join(err, errors.New("broken off"))
						}
						had, err := out.Written()
						if err == nil && c.keep >= 0 {
							err = out.Keep(c.keep)
						}
						return len(had), errors.Join(err, out.Write(3), out.Close())
					})
				})
				wk := r.begin(wf)
				run := start(r, wk, wf, 0)
				live := make(chan []string, 1)
				go func() { live <- r.said(r.client(), run.ID(), "numbers", 0) }()
				want(r, run, 2)
				if diff := cmp.Diff(c.live, <-live); diff != "" {
					r.Errorf("live (-want +got):\n%s", diff)
				}
				r.says(wk.App, run.ID(), "numbers", c.late...)
			})
		})
	}
}

// TestAFailedAttemptClosesNothing, flushed or not, in place or queued: readers stay for the next attempt, or for what others write.
func TestAFailedAttemptClosesNothing(t *testing.T) {
	onWorlds(t, func(r *rig) {
		step := stepwell.DefineStep("say", func(ctx context.Context, lasting bool) (int, error) {
			out := stepwell.Stream[int](ctx, "numbers")
			if lasting || stepwell.Info(ctx).Attempt == 1 {
				err := errors.Join(out.Write(1), out.Close(), out.Flush(), errors.New("broken off"))
				if lasting {
					err = stepwell.Fatal(err)
				}
				return 0, err
			}
			return 0, out.Close() // it writes nothing: what failed is void all the same
		})
		wf := stepwell.Define("closer", func(ctx stepwell.Context, lasting bool) (int, error) {
			idle := step.Start(ctx, lasting)
			if _, err := idle.Get(ctx); err == nil {
				return 0, nil
			}
			return 0, stepwell.Do(ctx, "other", func(ctx context.Context) error {
				out := stepwell.Stream[int](ctx, "numbers")
				return errors.Join(out.Write(2), out.Close())
			})
		})
		wk := r.begin(wf, step)
		for lasting, seen := range map[bool][]string{false: {"1", "reset from 0"}, true: {"1", "2"}} {
			run := start(r, wk, wf, lasting)
			live := make(chan []string, 1)
			go func() { live <- r.said(r.client(), run.ID(), "numbers", 0) }()
			want(r, run, 0)
			if diff := cmp.Diff(seen, <-live); diff != "" {
				r.Errorf("lasting %t: live (-want +got):\n%s", lasting, diff)
			}
			rows, err := wk.Streams(r.ctx, run.ID())
			if err != nil || len(rows) != 1 || rows[0].Closed != world.ChunkClose {
				r.Errorf("lasting %t: streams %+v, %v; want it closed", lasting, rows, err)
			}
		}
	})
}

// TestStreamIsReadWhileTheStepRuns: a chunk is there some milliseconds later; a reader that stops goes on where it stood; a queued step writes as one in
// place does.
func TestStreamIsReadWhileTheStepRuns(t *testing.T) {
	onWorlds(t, func(r *rig) {
		read := make(chan int)
		say := stepwell.DefineStep("say", func(ctx context.Context, from int) (int, error) {
			out := stepwell.Stream[int](ctx, "numbers")
			for i := range 3 {
				if err := out.Write(from + i); err != nil {
					return 0, err
				}
				if got := <-read; got != from+i {
					return 0, stepwell.Fatal(fmt.Errorf("the reader has %d, want %d", got, from+i))
				}
			}
			return from, out.Write(from + 3)
		})
		wf := stepwell.Define("live", func(ctx stepwell.Context, _ int) (int, error) {
			if _, err := say.Run(ctx, 0); err != nil {
				return 0, err
			}
			idle := say.Start(ctx, 100) // of two, one is queued: it has a slot when the other has returned
			a, err := say.Start(ctx, 200).Get(ctx)
			if err != nil {
				return 0, err
			}
			b, err := idle.Get(ctx)
			return a + b, err
		})
		wk := r.beginWith(stepwell.Config{Definitions: []stepwell.Definition{wf, say}, MaxSteps: 1})
		run := start(r, wk, wf, 0)
		var got []int
		for next := int64(0); len(got) < 12; {
			for c, err := range stepwell.ReadStream[int](r.ctx, r.client(), run.ID(), "numbers", next) {
				if err != nil {
					r.Fatal(err)
				}
				if next = c.Index + 1; c.Index != int64(len(got)) {
					r.Fatalf("chunk %d after %d chunks", c.Index, len(got))
				}
				if got = append(got, c.Value); c.Value%100 < 3 {
					read <- c.Value
				}
				if len(got)%2 == 0 {
					break // and read on from next
				}
			}
		}
		want(r, run, 300)
		if n := r.appends(); n < 9 {
			r.Errorf("%d appends, want one for each chunk that was waited for at least", n)
		}
		r.says(wk.App, run.ID(), "none")
	})
}

var errModel = errors.New("the model is gone")

// TestStreamEnds: where it was closed, with an error or without, and where its run ended without that.
func TestStreamEnds(t *testing.T) {
	bubble(t, kinds[0].open, modes[1].set, func(r *rig) {
		wf := stepwell.Define("ends", func(ctx stepwell.Context, how string) (string, error) {
			return stepwell.Step(ctx, "say", func(ctx context.Context) (string, error) {
				out := stepwell.Stream[string](ctx, "s")
				err := out.Write("a")
				switch how {
				case "error":
					return how, errors.Join(err, out.CloseWithError(fmt.Errorf("no more: %w", errModel)))
				case "fails":
					return how, stepwell.Fatal(errModel)
				}
				return how, err
			})
		})
		wk := r.beginWith(stepwell.Config{Definitions: []stepwell.Definition{wf, stepwell.KnownError("model", errModel)}})
		for how, next := range map[string]int64{"completes": -1, "error": 1, "fails": 1} {
			run := start(r, wk, wf, how)
			_, _ = run.Result(r.ctx)
			var end *stepwell.StreamError
			n := 0
			for c, err := range wk.ReadStream(r.ctx, run.ID(), "s", 0) {
				if n++; err != nil && !errors.As(err, &end) || err == nil && string(c.Value) != `"a"` {
					r.Errorf("%s: got %s, %v", how, c.Value, err)
				}
			}
			if (end == nil) != (next < 0) || end != nil && (end.Index != next || n != 2) {
				r.Errorf("%s: got %v after %d chunks, want an error at %d", how, end, n, next)
			}
			if how == "error" && (!errors.Is(end, errModel) || !strings.Contains(end.Error(), "no more")) {
				r.Errorf("got %v, want it to be %v", end, errModel)
			}
		}
		if _, err := wk.Streams(r.ctx, "nobody"); !errors.Is(err, stepwell.ErrNotFound) {
			r.Errorf("streams of an unknown run: got %v, want %v", err, stepwell.ErrNotFound)
		}
	})
}

// TestStreamRefusals: what cannot be written says so, and what is wrong with a stream shows at its first use.
func TestStreamRefusals(t *testing.T) {
	bubble(t, kinds[0].open, modes[0].set, func(r *rig) {
		var late atomic.Pointer[stepwell.StreamWriter[string]]
		wf := stepwell.Define("refused", func(ctx stepwell.Context, _ int) (string, error) {
			if err := stepwell.WriteStream(ctx, "", 1); !errors.Is(err, stepwell.ErrInvalid) {
				return "", fmt.Errorf("no name: %w", err)
			}
			if err := stepwell.WriteStream(ctx, "s", strings.Repeat("x", 1<<20)); !errors.Is(err, stepwell.ErrTooLarge) {
				return "", fmt.Errorf("too large: %w", err)
			}
			return stepwell.Step(ctx, "say", func(ctx context.Context) (string, error) {
				if err := stepwell.Stream[int](ctx, "a\n").Write(1); !errors.Is(err, stepwell.ErrInvalid) {
					return "", fmt.Errorf("a bad name: %w", err)
				}
				if err := stepwell.Stream[int](context.Background(), "s").Flush(); !errors.Is(err, stepwell.ErrInvalid) {
					return "", fmt.Errorf("no step: %w", err)
				}
				out := stepwell.Stream[string](ctx, "s")
				if err := out.Write(strings.Repeat("x", 1<<20)); !errors.Is(err, stepwell.ErrTooLarge) {
					return "", fmt.Errorf("too large: %w", err)
				}
				if err := out.Keep(1); !errors.Is(err, stepwell.ErrInvalid) {
					return "", fmt.Errorf("keep what is not there: %w", err)
				}
				if err := errors.Join(out.Write("a"), out.Close()); err != nil {
					return "", err
				}
				if err := out.Write("b"); !errors.Is(err, stepwell.ErrStreamClosed) {
					return "", fmt.Errorf("closed: %w", err)
				}
				late.Store(stepwell.Stream[string](ctx, "other"))
				return "ok", nil
			})
		})
		wk := r.begin(wf)
		run := start(r, wk, wf, 0)
		want(r, run, "ok")
		if err := late.Load().Write("a"); !errors.Is(err, stepwell.ErrInvalid) {
			r.Errorf("behind the step's end: got %v, want %v", err, stepwell.ErrInvalid)
		}
		r.says(wk.App, run.ID(), "s", `"a"`)
	})
}

// slowWorld holds appends up, or loses their answers.
type slowWorld struct {
	world.World
	gate  chan struct{} // each append takes one; nil: none waits
	loses bool
	calls atomic.Int64
}

func (w *slowWorld) Append(ctx context.Context, a *world.Append) (world.Appended, error) {
	if w.gate != nil {
		<-w.gate
	}
	done, err := w.World.Append(ctx, a)
	if w.loses && w.calls.Add(1)%2 == 1 {
		return world.Appended{}, fmt.Errorf("the answer was lost: %w", world.ErrUnknownOutcome)
	}
	return done, err
}

// TestStreamHoldsUpAFastWriter: what waits in memory is bounded in bytes.
func TestStreamHoldsUpAFastWriter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &slowWorld{World: memory.New(), gate: make(chan struct{})}
		var written atomic.Int64
		wf := stepwell.Define("fast", func(ctx stepwell.Context, _ int) (int, error) {
			return stepwell.Step(ctx, "say", func(ctx context.Context) (int, error) {
				out := stepwell.Stream[string](ctx, "s")
				for range 8 {
					if err := out.Write(strings.Repeat("x", 512<<10)); err != nil {
						return 0, err
					}
					written.Add(1)
				}
				return 8, nil
			})
		})
		wk := begin(t, w, stepwell.Config{Definitions: []stepwell.Definition{wf}})
		run, err := wf.Start(t.Context(), wk.App, 0)
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if n := written.Load(); n != 3 { // a fourth would be more than 2 MiB
			t.Errorf("%d chunks of 512 KiB were written while none was stored, want 3", n)
		}
		close(w.gate)
		if n, err := run.Result(t.Context()); n != 8 || err != nil {
			t.Errorf("got %d, %v, want 8", n, err)
		}
	})
}

// TestStreamOfLostAnswers: an append whose outcome is not known is made once.
func TestStreamOfLostAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &slowWorld{World: memory.New(), loses: true}
		wf := stepwell.Define("lost", func(ctx stepwell.Context, _ int) (int, error) {
			return stepwell.Step(ctx, "say", func(ctx context.Context) (int, error) {
				out := stepwell.Stream[int](ctx, "s")
				for i := range 4 {
					if err := errors.Join(out.Write(i), out.Flush()); err != nil {
						return 0, err
					}
				}
				return 4, nil
			})
		})
		wk := begin(t, w, stepwell.Config{Definitions: []stepwell.Definition{wf}})
		run, err := wf.Start(t.Context(), wk.App, 0)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := run.Result(t.Context()); err != nil {
			t.Fatal(err)
		}
		var got []json.RawMessage
		for c, err := range wk.ReadStream(t.Context(), run.ID(), "s", 0) {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, c.Value)
		}
		if s := fmt.Sprintf("%s", got); s != "[0 1 2 3]" {
			t.Errorf("got %s, want each once", s)
		}
	})
}
