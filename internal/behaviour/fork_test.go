package behaviour_test

// Forks, retries and restarts.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/world"
)

// endedSteps are the names under which diaries know the steps that had ended before a cut.
func endedSteps(events []world.Event) (names []string) {
	made := map[string]string{}
	for _, e := range events {
		switch e.Type {
		case world.StepCreated:
			made[e.ID] = e.Name
			if e.Name == "story-count" {
				made[e.ID] = "count " + strings.Trim(string(e.Payload), `"`)
			}
		case world.StepCompleted, world.StepFailed:
			names = append(names, made[e.ID])
		}
	}
	return names
}

// TestForkAtEveryEvent: a fork at any event, of a run that is over, ends as the original did, and none of the steps runs again that had ended before
// the cut.
func TestForkAtEveryEvent(t *testing.T) {
	for _, s := range stories {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			everyWay(t, func(r *rig) {
				d := &diary{}
				app := r.beginWith(stepwell.Config{Definitions: s.defs(d)})
				run := s.tell(r, app, d)
				want, events := r.get(run), r.events(run)
				for n := 1; n <= len(events); n++ {
					forked, err := app.Fork(r.ctx, run, stepwell.ForkOptions{At: int64(n)})
					if err != nil {
						r.Fatalf("at event %d: %v", n, err)
					}
					synctest.Wait()
					s.live(r, app, forked.ID())
					got := s.over(r, forked.ID())
					if got.Status != want.Status || string(got.Output) != string(want.Output) {
						r.dump(forked.ID())
						r.Errorf("forked at event %d (%s): %s %s, want %s %s", n, events[n-1].Type, got.Status, got.Output, want.Status, want.Output)
					}
					for _, name := range endedSteps(events[:n]) {
						if slices.Contains(d.of(forked.ID()), name) {
							r.Errorf("forked at event %d (%s): step %q ran again", n, events[n-1].Type, name)
						}
					}
					b := r.events(forked.ID(), world.RunCreated)[0].Birth
					if b.Origin == nil || b.Origin.Run != run || b.Origin.Seq != int64(n) {
						r.Errorf("forked at event %d: origin %+v", n, b.Origin)
					}
				}
				if again := r.events(run); len(again) != len(events) {
					r.Errorf("the source has %d events, had %d", len(again), len(events))
				}
			})
		})
	}
}

// TestForkOfALiveRun: the source keeps its tokens and goes on; both end.
func TestForkOfALiveRun(t *testing.T) {
	everyWay(t, func(r *rig) {
		s := stories[2]
		d := &diary{}
		app := r.beginWith(stepwell.Config{Definitions: s.defs(d)})
		run := s.start(r, app, d)
		forked, err := app.Fork(r.ctx, run, stepwell.ForkOptions{ID: "the-fork"})
		if err != nil || forked.ID() != "the-fork" {
			r.Fatal(forked, err)
		}
		synctest.Wait()
		hooks, err := app.Hooks(r.ctx, "", "")
		if err != nil || len(hooks) != 2 || hooks[0].Token == hooks[1].Token {
			r.Fatalf("hooks %+v, %v; want one each", hooks, err)
		}
		for _, id := range []string{forked.ID(), run} {
			s.live(r, app, id)
			if got := s.over(r, id); string(got.Output) != `"ring 1 ring 2 "` {
				r.Errorf("run %s: %s %s", id, got.Status, got.Output)
			}
		}
		if _, err := app.Fork(r.ctx, run, stepwell.ForkOptions{ID: "the-fork"}); !errors.Is(err, stepwell.ErrRunExists) {
			r.Errorf("the same ID: %v, want ErrRunExists", err)
		}
		if _, err := app.Fork(r.ctx, run, stepwell.ForkOptions{At: 1000}); !errors.Is(err, stepwell.ErrInvalid) {
			r.Errorf("an event that is not there: %v, want ErrInvalid", err)
		}
		if _, err := app.Fork(r.ctx, "none", stepwell.ForkOptions{}); !errors.Is(err, stepwell.ErrNotFound) {
			r.Errorf("no run: %v, want ErrNotFound", err)
		}
	})
}

// TestForkWithChanges: an input or a result is another than it was.
func TestForkWithChanges(t *testing.T) {
	add := stepwell.Define("add", func(ctx stepwell.Context, in int) (int, error) {
		one, err := stepwell.Step(ctx, "one", func(context.Context) (int, error) { return 1, nil })
		if err != nil {
			return 0, err
		}
		two, err := stepwell.Step(ctx, "two", func(context.Context) (int, error) { return 0, stepwell.Fatal(errors.New("two is down")) })
		return in + one + two, err
	})
	onWorlds(t, func(r *rig) {
		app := r.begin(add)
		run := start(r, app, add, 100)
		wantErr(r, run, world.Failed)
		for _, c := range []struct {
			o    stepwell.ForkOptions
			want string // output, or an error's text
		}{
			{stepwell.ForkOptions{Results: map[string]json.RawMessage{"two": []byte(`40`)}}, "141"},
			{stepwell.ForkOptions{Results: map[string]json.RawMessage{"two[0]": []byte(`40`), "one": []byte(`2`)}, Input: []byte(`1000`)}, "1042"},
			{stepwell.ForkOptions{Results: map[string]json.RawMessage{"two": []byte(`40`)}, At: 6}, "141"}, // it had not ended there
			{stepwell.ForkOptions{Input: []byte(`"x"`)}, "does not fit"},
			{stepwell.ForkOptions{Results: map[string]json.RawMessage{"three": []byte(`3`)}}, `no step "three"`},
			{stepwell.ForkOptions{Results: map[string]json.RawMessage{"one": []byte(`{`)}}, "not JSON"},
		} {
			forked, err := app.Fork(r.ctx, run.ID(), c.o)
			if err != nil {
				if !errors.Is(err, stepwell.ErrInvalid) || !strings.Contains(err.Error(), c.want) && c.want != "does not fit" {
					r.Errorf("%+v: %v, want %q", c.o, err, c.want)
				}
				continue
			}
			if out, err := forked.Result(r.ctx); err != nil || string(out) != c.want {
				r.dump(forked.ID())
				r.Errorf("%+v: %s, %v, want %s", c.o, out, err, c.want)
			}
		}
	})
}

// TestRetry: the step that failed runs again, alone; a retry that is repeated is the same run.
func TestRetry(t *testing.T) {
	onWorlds(t, func(r *rig) {
		d := &diary{}
		mended := false
		shop := stepwell.Define("shop", func(ctx stepwell.Context, _ string) (string, error) {
			other := stepwell.Go(ctx, func(ctx stepwell.Context) (int, error) { return noted(ctx, d, "other", 1) })
			if _, err := noted(ctx, d, "pick", 1); err != nil {
				return "", err
			}
			err := stepwell.Do(ctx, "pack", func(c context.Context) error {
				if d.note(c, "pack"); !mended {
					return stepwell.Fatal(errNoStock)
				}
				return nil
			})
			if _, other := other.Get(ctx); err != nil || other != nil {
				return "", errors.Join(err, other)
			}
			return noted(ctx, d, "send", "sent")
		})
		app := r.begin(shop)
		run := start(r, app, shop, "")
		wantErr(r, run, world.Failed)
		mended = true
		retried, err := app.Retry(r.ctx, run.ID())
		if err != nil || retried.Existed() {
			r.Fatal(retried, err)
		}
		if out, err := retried.Result(r.ctx); err != nil || string(out) != `"sent"` {
			r.dump(retried.ID())
			r.Fatalf("retried: %s, %v", out, err)
		}
		if got := d.of(retried.ID()); !slices.Equal(got, []string{"pack", "send"}) {
			r.Errorf("the retry ran %q, want pack and what follows", got)
		}
		if again, err := app.Retry(r.ctx, run.ID()); err != nil || !again.Existed() || again.ID() != retried.ID() {
			r.Errorf("retried again: %v, %v; want the same run", again, err)
		}
		if _, err := app.Retry(r.ctx, retried.ID()); !errors.Is(err, stepwell.ErrInvalid) {
			r.Errorf("retry of a run that completed: %v, want ErrInvalid", err)
		}
		fresh, err := app.Restart(r.ctx, run.ID(), stepwell.RestartOptions{})
		if err != nil {
			r.Fatal(err)
		}
		if out, err := fresh.Result(r.ctx); err != nil || string(out) != `"sent"` || len(d.of(fresh.ID())) != 4 {
			r.Errorf("restarted: %s, %v, it ran %q; want all four steps", out, err, d.of(fresh.ID()))
		}
		if _, err := app.Restart(r.ctx, run.ID(), stepwell.RestartOptions{Input: []byte(`7`)}); !errors.Is(err, stepwell.ErrInvalid) {
			r.Errorf("restart with a number: %v, want ErrInvalid", err)
		}
		forked, err := app.Fork(r.ctx, run.ID(), stepwell.ForkOptions{At: 3})
		if err != nil {
			r.Fatal(err)
		}
		if _, err := forked.Result(r.ctx); err != nil {
			r.Fatal(err)
		}
		wantMade(r, app.App, run.ID(), fmt.Sprint(forked.ID(), " at 3"), fmt.Sprint(fresh.ID(), " at 1"), fmt.Sprint(retried.ID(), " retry"))
		wantMade(r, app.App, forked.ID())
	})
}

// wantMade compares what a run's story and lists tell of the runs that were made of it, which completed.
func wantMade(r *rig, app *stepwell.App, run string, want ...string) {
	r.Helper()
	story, err := app.Story(r.ctx, run, false)
	if err != nil {
		r.Fatal(err)
	}
	var got, ids []string
	for _, m := range story.Made {
		if how := fmt.Sprint(m.ID, " at ", m.At); m.Retry {
			got = append(got, m.ID+" retry")
		} else {
			got = append(got, how)
		}
		if ids = append(ids, m.ID); m.Status != world.Completed || m.Workflow != story.Run.Workflow {
			r.Errorf("%+v, want it completed", m)
		}
	}
	if !slices.Equal(got, want) || story.MadeMore {
		r.Errorf("made of run %s: got %q, more: %v; want %q", run, got, story.MadeMore, want)
	}
	var listed []string
	for info, err := range app.List(r.ctx, stepwell.ListFilter{Origin: run}) {
		if err != nil {
			r.Fatal(err)
		}
		if listed = append(listed, info.ID); info.Origin == nil || info.Origin.Run != run {
			r.Errorf("run %s has the origin %+v, want %s", info.ID, info.Origin, run)
		}
	}
	if !slices.Equal(listed, ids) {
		r.Errorf("listed: %q, told: %q", listed, ids)
	}
	for _, err := range app.List(r.ctx, stepwell.ListFilter{Parent: "a b"}) {
		if !errors.Is(err, stepwell.ErrInvalid) {
			r.Errorf("a parent that cannot be: %v, want ErrInvalid", err)
		}
	}
}

// TestForkBindsToACarriedHook: a hook with a chosen token lives on in the next segment; a fork, whose hook has a token of its own while the source
// holds that, binds to it there as the source did, and so does a fork of the fork.
func TestForkBindsToACarriedHook(t *testing.T) {
	desk := stepwell.Define("desk", func(ctx stepwell.Context, segment int) (string, error) {
		hook, err := stepwell.NewHook[string](ctx, stepwell.Token("the desk"))
		if err != nil {
			return "", err
		}
		if segment == 0 {
			return "", stepwell.ContinueAsNew(ctx, 1)
		}
		v, _, err := hook.Wait(ctx)
		return v, err
	})
	everywhere(t, func(r *rig) {
		app := r.begin(desk)
		runs := []string{start(r, app, desk, 0).ID()}
		synctest.Wait()
		for range 2 {
			forked, err := app.Fork(r.ctx, runs[len(runs)-1], stepwell.ForkOptions{})
			if err != nil {
				r.Fatal(err)
			}
			runs = append(runs, forked.ID())
			synctest.Wait()
		}
		for _, run := range runs {
			hooks, err := app.Hooks(r.ctx, run, "")
			if err != nil || len(hooks) != 1 {
				r.dump(run)
				r.Fatalf("run %s: hooks %+v, %v; want one: %s", run, hooks, err, r.get(run).Status)
			}
			if err := app.SendHook(r.ctx, hooks[0].Token, json.RawMessage(`"served"`)); err != nil {
				r.Fatal(err)
			}
			synctest.Wait()
			if got := r.get(run); string(got.Output) != `"served"` {
				r.dump(run)
				r.Errorf("run %s: %s %s, want served", run, got.Status, got.Output)
			}
		}
	})
}
