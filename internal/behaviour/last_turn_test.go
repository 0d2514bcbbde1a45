package behaviour_test

// What the code asks for in its last turn: it is in the ending commit where nobody needs to wait for it, and is told
// where it is not. See answer 14.

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/world"
)

// legacy is a child that somebody else is to see.
var legacy = stepwell.Define("legacy", func(ctx stepwell.Context, n int) (int, error) { return n, nil })

// parting is how a run ends whose code asks for something in its last turn.
type parting struct {
	name   string
	before bool // a step comes before: the last turn is not the first one
	end    func(ctx stepwell.Context, in int) (string, error)
	status world.Status
}

var partings = []parting{
	{"returns at once", false, func(stepwell.Context, int) (string, error) { return "bye", nil }, world.Completed},
	{"returns", true, func(stepwell.Context, int) (string, error) { return "bye", nil }, world.Completed},
	{"fails at once", false, func(stepwell.Context, int) (string, error) { return "", errBoom }, world.Failed},
	{"fails", true, func(stepwell.Context, int) (string, error) { return "", errBoom }, world.Failed},
	{"continues at once", false, again, world.Completed},
	{"continues", true, again, world.Completed},
}

var errBoom = fmt.Errorf("boom")

func again(ctx stepwell.Context, in int) (string, error) {
	if in > 0 {
		return "", stepwell.ContinueAsNew(ctx, in-1)
	}
	return "bye", nil
}

// lasting asks, in its last turn, for a child of its own, one with a chosen ID, an attribute and a chunk.
func lasting(p parting, ids *sync.Map) *stepwell.Workflow[int, string] {
	return stepwell.Define("lasting", func(ctx stepwell.Context, in int) (string, error) {
		if p.before {
			if _, err := add("work", 1)(ctx); err != nil {
				return "", err
			}
		}
		child := legacy.Child(stepwell.Detached()).Start(ctx, in)
		chosen := legacy.Child(stepwell.RunID(fmt.Sprint("chosen-", in)), stepwell.Detached()).Start(ctx, in)
		refused := legacy.Child(stepwell.RunID("taken"), stepwell.Detached()).Start(ctx, in)
		for _, id := range []string{child.ID(), chosen.ID(), refused.ID()} {
			ids.Store(id, true)
		}
		if err := stepwell.SetAttribute(ctx, fmt.Sprint("attribute-", in), in); err != nil {
			return "", err
		}
		if err := stepwell.WriteStream(ctx, "chunks", in); err != nil {
			return "", err
		}
		return p.end(ctx, in)
	})
}

// check holds a run of lasting that is over to what it asked for.
func (p parting) check(r *rig, run string, ids *sync.Map) {
	r.Helper()
	row := r.get(run)
	segments := 1
	if strings.HasPrefix(p.name, "continues") {
		segments = 3
	}
	if len(row.Attributes) != segments {
		r.Errorf("attributes = %v, want %d", row.Attributes, segments)
	}
	if n := r.count(run, world.StepCreated, "chunks"); n != segments {
		r.Errorf("%d chunks, want %d", n, segments)
	}
	created := 0
	ids.Range(func(id, _ any) bool {
		created++
		child := r.get(id.(string))
		if child.Workflow != "legacy" || id != "taken" && (child.Parent == nil || child.Parent.Run != run || !child.Parent.Detached) {
			r.Errorf("child %s = %+v, want a detached one of the run", id, child)
		}
		until(r, "the child to complete", func() bool { return r.get(id.(string)).Status == world.Completed })
		return true
	})
	if want := 2*segments + 1; created != want {
		r.Errorf("%d children, want %d", created, want)
	}
	conflicts := 0
	for _, e := range r.events(run, world.StepFailed) {
		if e.Error.Code == world.CodeRunExists {
			conflicts++
		}
	}
	if conflicts != segments {
		r.dump(run)
		r.Errorf("%d children were refused, want %d: one ID is taken", conflicts, segments)
	}
}

// TestWhatIsAskedForLastIsInTheEndingCommit: children that live on, attributes and chunks, of an eager first turn
// too, on every world and in every mode.
func TestWhatIsAskedForLastIsInTheEndingCommit(t *testing.T) {
	for _, p := range partings {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			everywhere(t, func(r *rig) {
				var ids sync.Map
				wf := lasting(p, &ids)
				wk := r.beginWith(stepwell.Config{Definitions: []stepwell.Definition{wf, legacy}, MaxRuns: 1, MaxSteps: 1})
				want(r, start(r, wk, legacy, 7, stepwell.RunID("taken")), 7)
				run := start(r, wk, wf, 2)
				if p.status == world.Failed {
					wantErr(r, run, p.status)
				} else {
					want(r, run, "bye")
				}
				p.check(r, run.ID(), &ids)
			})
		})
	}
}

// TestWhatIsAskedForLastSurvivesDeaths: the worker dies before and after each of its commits.
func TestWhatIsAskedForLastSurvivesDeaths(t *testing.T) {
	for _, p := range partings {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			for k := 1; ; k++ {
				died := false
				for _, after := range []bool{false, true} {
					bubble(t, kinds[0].open, modes[0].set, func(r *rig) {
						var ids sync.Map
						wf := lasting(p, &ids)
						cfg := stepwell.Config{Definitions: []stepwell.Definition{wf, legacy}}
						if _, err := legacy.Start(r.ctx, r.client(legacy), 7, stepwell.RunID("taken")); err != nil {
							r.Fatal(err)
						}
						run, err := wf.Start(r.ctx, r.client(wf), 2)
						if err != nil {
							r.Fatal(err)
						}
						m := r.beginMortal(cfg, k, after)
						until(r, "its death or the end", func() bool { return m.died.Load() || r.get(run.ID()).Status.Terminal() })
						died = died || m.died.Load()
						m.stop()
						r.begin(wf, legacy)
						if p.status == world.Failed {
							wantErr(r, run, p.status)
						} else {
							want(r, run, "bye")
						}
						p.check(r, run.ID(), &ids)
					})
				}
				if !died {
					break
				}
			}
		})
	}
}

// TestALargeLastTurnIsSplit: what does not fit one commit is in several, of which the last ends the run.
func TestALargeLastTurnIsSplit(t *testing.T) {
	const children, size = 12, 900 << 10
	big := stepwell.Define("big", func(stepwell.Context, string) (int, error) { return 1, nil })
	wf := stepwell.Define("splits", func(ctx stepwell.Context, _ int) (ids []string, err error) {
		for range children {
			ids = append(ids, big.Child(stepwell.Detached()).Start(ctx, strings.Repeat("x", size)).ID())
		}
		return ids, nil
	})
	everywhere(t, func(r *rig) {
		run := start(r, r.begin(wf, big), wf, 0)
		ids, err := run.Result(r.ctx)
		if err != nil || len(ids) != children {
			r.Fatalf("result = %v, %v", ids, err)
		}
		for _, id := range ids {
			until(r, "the child to complete", func() bool { return r.get(id).Status == world.Completed })
		}
		if n := commits(r, r.world, run.ID()); n < 2 {
			r.Errorf("%d commits: want the turn to be split", n)
		}
	})
}

// TestWhatNobodyWaitsForIsTold: steps, waits and attached children of the last turn are not created; the log of the
// run and that of the worker say so.
func TestWhatNobodyWaitsForIsTold(t *testing.T) {
	for _, p := range partings {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			across(t, kinds[:1], modes, func(r *rig) {
				reg := stepwell.DefineStep("registered", func(context.Context, int) (int, error) { return 1, nil })
				wf := stepwell.Define("forgetful", func(ctx stepwell.Context, in int) (string, error) {
					if p.before {
						if _, err := add("work", 1)(ctx); err != nil {
							return "", err
						}
					}
					reg.Start(ctx, 1)
					legacy.Child().Start(ctx, in)
					stepwell.Timer(ctx, "nap", time.Hour)
					part, cancel := stepwell.WithCancel(ctx)
					reg.Start(part, 2)
					cancel()
					stepwell.Go(ctx, func(ctx stepwell.Context) (int, error) { return add("begun nowhere", 1)(ctx) })
					return p.end(ctx, in)
				})
				var said bytes.Buffer
				wk := r.beginWith(stepwell.Config{
					Definitions: []stepwell.Definition{wf, legacy, reg}, Logger: slog.New(slog.NewTextHandler(&said, nil)),
				})
				run := start(r, wk, wf, 1)
				_, _ = run.Result(r.ctx)
				story, err := wk.Story(r.ctx, run.ID(), false)
				wk.stop(r)
				ends := 1
				if strings.HasPrefix(p.name, "continues") {
					ends = 2
				}
				if err != nil || len(story.Journal.NotCreated) != ends {
					r.Fatalf("journal = %q, %v; want %d ends that say it", story.Journal.NotCreated, err, ends)
				}
				const all = `registered step "registered", child run "legacy", sleep "nap"`
				for _, what := range story.Journal.NotCreated {
					if what != all {
						r.Errorf("not created: %s, want %s", what, all)
					}
				}
				if n := strings.Count(said.String(), "which was not created"); n != ends || !strings.Contains(said.String(), run.ID()) {
					r.Errorf("the worker's log says it %d times, want %d:\n%s", n, ends, &said)
				}
				for _, e := range r.events(run.ID(), world.StepCreated, world.WaitCreated) {
					if e.Name != "work" {
						r.Errorf("the log has %s %q", e.Type, e.Name)
					}
				}
			})
		})
	}
}

// TestAHookOpenedBeforeAContinuationStaysOpen: its token was handed out.
func TestAHookOpenedBeforeAContinuationStaysOpen(t *testing.T) {
	wf := stepwell.Define("hands-out", func(ctx stepwell.Context, token string) (string, error) {
		if token == "" {
			h, err := stepwell.NewHook[string](ctx)
			if err != nil {
				return "", err
			}
			return "", stepwell.ContinueAsNew(ctx, h.Token())
		}
		h, err := stepwell.NewHook[string](ctx, stepwell.Token(token))
		if err != nil {
			return "", err
		}
		if err := stepwell.SetAttribute(ctx, "token", token); err != nil {
			return "", err
		}
		v, _, err := h.Wait(ctx)
		return v, err
	})
	everywhere(t, func(r *rig) {
		wk := r.begin(wf)
		run := start(r, wk, wf, "")
		var token string
		until(r, "the token", func() bool {
			token = strings.Trim(string(r.get(run.ID()).Attributes["token"]), `"`)
			return token != ""
		})
		if err := wk.SendHook(r.ctx, token, []byte(`"hello"`)); err != nil {
			r.Fatal(err)
		}
		want(r, run, "hello")
	})
}

// TestAWaitThatWasMetLastIsInTheLog: a payload that the code took in its last turn shows as taken.
func TestAWaitThatWasMetLastIsInTheLog(t *testing.T) {
	wf := stepwell.Define("takes", func(ctx stepwell.Context, _ int) (int, error) {
		if _, err := add("work", 1)(ctx); err != nil {
			return 0, err
		}
		n, _, err := numbers.Wait(ctx)
		return n.N, err
	})
	everywhere(t, func(r *rig) {
		client := r.client(wf)
		run, err := wf.Start(r.ctx, client, 0)
		if err != nil {
			r.Fatal(err)
		}
		if err := numbers.Send(r.ctx, client, run.ID(), number{5}); err != nil {
			r.Fatal(err)
		}
		r.begin(wf)
		want(r, run, 5)
		if n := r.count(run.ID(), world.WaitCreated, ""); n != 1 || r.count(run.ID(), world.WaitCompleted, "") != 1 {
			r.dump(run.ID())
			r.Errorf("%d waits, want one, and that it was met", n)
		}
		r.replays(run.ID(), wf)
	})
}
