package behaviour_test

// This file holds attributes, which clients read and list runs by, and the runs that a step's body starts.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/world"
)

// TestSetAttribute is seen while the run goes on; a list by attributes finds those that have it, in pages.
func TestSetAttribute(t *testing.T) {
	everywhere(t, func(r *rig) {
		wf := stepwell.Define("shown", func(ctx stepwell.Context, n int) (int, error) {
			if err := stepwell.SetAttribute(ctx, "parity", map[string]any{"odd": n%2 == 1, "n": n}); err != nil {
				return 0, err
			}
			for _, stage := range []string{"packing", "shipping"} {
				if err := stepwell.SetAttribute(ctx, "stage", stage); err != nil {
					return 0, err
				}
				if _, _, err := note.Wait(ctx); err != nil {
					return 0, err
				}
			}
			if err := stepwell.SetAttribute(ctx, "big", strings.Repeat("x", 9<<10)); !errors.Is(err, stepwell.ErrTooLarge) {
				return 0, fmt.Errorf("a large attribute: %w", err)
			}
			if err := stepwell.SetAttribute(ctx, "", 1); !errors.Is(err, stepwell.ErrInvalid) {
				return 0, fmt.Errorf("an attribute without a name: %w", err)
			}
			return n, stepwell.SetAttribute(ctx, "stage", "done")
		})
		app := r.begin(wf)
		var runs []*stepwell.Run[int]
		for i := range 6 {
			runs = append(runs, start(r, app, wf, i, stepwell.RunID(fmt.Sprint("run", i)), stepwell.Attributes(map[string]any{"tenant": "acme"})))
			if err := note.Send(r.ctx, app.App, fmt.Sprint("run", i), "go"); err != nil {
				r.Fatal(err)
			}
		}
		list := func(attrs stepwell.Match) (ids []string) {
			for run, err := range app.List(r.ctx, stepwell.ListFilter{Attributes: attrs}) {
				if err != nil {
					r.Fatal(err)
				}
				ids = append(ids, run.ID)
			}
			return ids
		}
		until(r, "all to ship", func() bool { return len(list(stepwell.Match{"stage": "shipping"})) == 6 })
		odd := stepwell.Match{"parity": stepwell.Match{"odd": true}, "tenant": "acme"}
		if diff := cmp.Diff([]string{"run5", "run3", "run1"}, list(odd)); diff != "" {
			r.Errorf("odd ones (want -, got +):\n%s", diff)
		}
		if got := list(stepwell.Match{"tenant": "ac"}); got != nil {
			r.Errorf("a part of a value matches %v, want none", got)
		}
		for i, run := range runs {
			if err := note.Send(r.ctx, app.App, run.ID(), "on"); err != nil {
				r.Fatal(err)
			}
			want(r, run, i)
			r.replays(run.ID(), wf)
		}
		if got := string(r.get("run3").Attributes["stage"]); got != `"done"` {
			r.Errorf("stage of a run that is over is %s, want done: it was set in the last turn", got)
		}
	})
}

// TestAttributesAreBounded: the code hears which one is too many, live and replayed, and a start with too many is refused.
func TestAttributesAreBounded(t *testing.T) {
	everywhere(t, func(r *rig) {
		wf := stepwell.Define("bounded", func(ctx stepwell.Context, round int) (string, error) {
			var refused []int
			for i := range 70 {
				switch err := stepwell.SetAttribute(ctx, fmt.Sprint("a", i), i); {
				case errors.Is(err, stepwell.ErrTooLarge):
					refused = append(refused, i)
				case err != nil:
					return "", err
				}
				if i == 66 {
					if _, _, err := note.Wait(ctx); err != nil {
						return "", err
					}
				}
			}
			for i := range 3 { // the value counts that stands, and not those before it
				if err := stepwell.SetAttribute(ctx, "a1", strings.Repeat("x", 8100)); err != nil {
					return "", fmt.Errorf("round %d: %w", i, err)
				}
			}
			if err := stepwell.SetAttribute(ctx, "a2", strings.Repeat("x", 8100)); !errors.Is(err, stepwell.ErrTooLarge) {
				return "", fmt.Errorf("bytes: %w", err)
			}
			if round == 0 {
				return "", stepwell.ContinueAsNew(ctx, 1)
			}
			return fmt.Sprint(refused), nil
		})
		app := r.begin(wf)
		run := start(r, app, wf, 0, stepwell.RunID("bounded"), stepwell.Attributes(map[string]any{"first": 1}))
		for range 2 {
			if err := note.Send(r.ctx, app.App, "bounded", "go"); err != nil {
				r.Fatal(err)
			}
		}
		want(r, run, "[63 64 65 66 67 68 69]")
		r.replays("bounded", wf)
		if got := len(r.get("bounded").Attributes); got != world.MaxAttributes {
			r.Errorf("%d attributes, want %d", got, world.MaxAttributes)
		}
		many := map[string]any{}
		for i := range world.MaxAttributes + 1 {
			many[fmt.Sprint(i)] = i
		}
		for _, attributes := range []map[string]any{many, {"a": strings.Repeat("x", 8000), "b": strings.Repeat("x", 8000), "c": strings.Repeat("x", 1000)}} {
			if _, err := wf.Start(r.ctx, app.App, 0, stepwell.RunID("many"), stepwell.Attributes(attributes)); !errors.Is(err, stepwell.ErrTooLarge) {
				r.Errorf("a start with too many attributes: got %v", err)
			}
		}
	})
}

// TestBodyStartsARun under its step's ID: the next attempt gets the same run, and waits for it; a second one of the same workflow needs a key of its own.
func TestBodyStartsARun(t *testing.T) {
	everywhere(t, func(r *rig) {
		other := stepwell.Define("other", func(ctx stepwell.Context, n int) (int, error) {
			return 10 * n, stepwell.Sleep(ctx, "a-while", time.Second)
		})
		var app *worker
		wf := stepwell.Define("starter", func(ctx stepwell.Context, _ int) (string, error) {
			return stepwell.Step(ctx, "start-others", func(c context.Context) (string, error) {
				first, err := other.Start(c, app.App, 1)
				if err != nil {
					return "", err
				}
				if _, err := other.Start(c, app.App, 2); !errors.Is(err, stepwell.ErrInvalid) {
					return "", stepwell.Fatal(fmt.Errorf("a second start: %w", err))
				}
				second, err := other.Start(c, app.App, 2, stepwell.Key("second"))
				if err != nil {
					return "", err
				}
				if stepwell.Info(c).Attempt == 1 {
					return "", errors.New("once more")
				}
				a, err := first.Result(c)
				if err != nil {
					return "", err
				}
				b, err := second.Result(c)
				return fmt.Sprint(a, b, first.Existed(), second.Existed()), err
			})
		})
		app = r.beginWith(stepwell.Config{Definitions: []stepwell.Definition{wf, other}, MaxSteps: 1})
		run := start(r, app, wf, 0)
		want(r, run, "10 20 true true")
		keys := map[string]bool{}
		for info, err := range app.List(r.ctx, stepwell.ListFilter{Workflow: "other"}) {
			if err != nil {
				r.Fatal(err)
			}
			keys[info.Key] = true
		}
		step := r.events(run.ID(), world.StepCreated)[0].ID
		if diff := cmp.Diff(map[string]bool{step: true, "second": true}, keys); diff != "" {
			r.Errorf("keys of the runs (want -, got +):\n%s", diff)
		}
	})
}

// TestAttributesOfADefinition are what each run of a workflow starts with; a start's own, and a child's, win by name.
func TestAttributesOfADefinition(t *testing.T) {
	everywhere(t, func(r *rig) {
		all := func(kv ...any) stepwell.WorkflowOption {
			m := map[string]any{}
			for i := 0; i < len(kv); i += 2 {
				m[kv[i].(string)] = kv[i+1]
			}
			return stepwell.Attributes(m)
		}
		part := stepwell.Define("part", func(ctx stepwell.Context, n int) (int, error) { return n, nil }, all("team", "parts", "n", 1))
		whole := stepwell.Define("whole", func(ctx stepwell.Context, n int) (int, error) {
			if _, err := part.Child(stepwell.RunID("plain")).Run(ctx, n); err != nil {
				return 0, err
			}
			return part.Child(stepwell.RunID("own"), stepwell.Attributes(map[string]any{"n": 2, "x": nil})).Run(ctx, n)
		}, all("team", "wholes"))
		app := r.begin(whole, part)
		start(r, app, whole, 1, stepwell.RunID("w1"))
		start(r, app, whole, 1, stepwell.RunID("w2"), stepwell.Attributes(map[string]any{"team": "others"}))
		if _, err := app.Start(r.ctx, "part", []byte("1"), stepwell.RunID("named")); err != nil {
			r.Fatal(err)
		}
		for id, want := range map[string]string{
			"w1": `{"team":"wholes"}`, "w2": `{"team":"others"}`, "plain": `{"n":1,"team":"parts"}`, "own": `{"n":2,"team":"parts","x":null}`, "named": `{"n":1,"team":"parts"}`,
		} {
			var info stepwell.RunInfo
			until(r, id+" is there", func() (there bool) {
				var err error
				if info, err = app.Get(r.ctx, id); err != nil && !errors.Is(err, stepwell.ErrNotFound) {
					r.Fatal(err)
				}
				return err == nil
			})
			if got, err := json.Marshal(info.Attributes); err != nil || string(got) != want {
				r.Errorf("%s starts with %s, %v; want %s", id, got, err, want)
			}
		}
		many := map[string]any{}
		for i := range world.MaxAttributes {
			many[fmt.Sprint("a", i)] = i
		}
		if _, err := whole.Start(r.ctx, app.App, 1, stepwell.RunID("too-many"), stepwell.Attributes(many)); !errors.Is(err, stepwell.ErrTooLarge) {
			r.Errorf("as many as there may be, and the definition's: got %v, want ErrTooLarge", err)
		}
		for _, bad := range []map[string]any{{"": 1}, {"f": func() {}}} {
			faulty := stepwell.Define("faulty", func(ctx stepwell.Context, n int) (int, error) { return n, nil }, stepwell.Attributes(bad))
			if _, err := stepwell.New(r.world, stepwell.Config{Definitions: []stepwell.Definition{faulty}}); err == nil || !strings.Contains(err.Error(), `workflow "faulty"`) {
				r.Errorf("%v: got %v, want it refused, with the workflow", bad, err)
			}
		}
	})
}
