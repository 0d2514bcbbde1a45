package behaviour_test

// Histories: exported, imported, held against code, and kept for ever.

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/memory"
)

var updateHistories = flag.Bool("update-histories", false, "write the histories of this release that are missing in testdata/histories")

// export exports a run and reads it again.
func export(r *rig, app *stepwell.App, run string) (h *stepwell.History, text []byte) {
	r.Helper()
	var b bytes.Buffer
	if err := app.Export(r.ctx, run, &b); err != nil {
		r.Fatal(err)
	}
	text = bytes.Clone(b.Bytes())
	for read, err := range stepwell.ReadHistories(&b) {
		if err != nil {
			r.Fatal(err)
		}
		h = read
	}
	return h, text
}

// TestHistoriesFitTheirCode: a log fits the code that wrote it at every event; and code that asks for something else is told so.
func TestHistoriesFitTheirCode(t *testing.T) {
	for _, s := range stories {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			onWorlds(t, func(r *rig) {
				d := &diary{}
				app := r.beginWith(stepwell.Config{Definitions: s.defs(d)})
				h, _ := export(r, app.App, s.tell(r, app, d))
				checker, err := stepwell.New(memory.New(), stepwell.Config{Definitions: s.defs(&diary{}), Strict: true})
				if err != nil {
					r.Fatal(err)
				}
				for i := range h.Events {
					if err := checker.Check(r.ctx, &stepwell.History{Run: h.Run, Events: h.Events[:i+1]}); err != nil {
						r.Errorf("at event %d (%s): %v", i+1, h.Events[i].Type, err)
					}
				}
			})
		})
	}
}

func TestCheckTellsWhatDiffers(t *testing.T) {
	greet := func(name, out string, bodies ...func(stepwell.Context) error) stepwell.Definition {
		return stepwell.Define(name, func(ctx stepwell.Context, in string) (string, error) {
			for _, b := range bodies {
				if err := b(ctx); err != nil {
					return "", err
				}
			}
			return out, nil
		})
	}
	step := func(name string) func(stepwell.Context) error {
		return func(ctx stepwell.Context) error {
			return stepwell.Do(ctx, name, func(context.Context) error { return nil })
		}
	}
	onWorlds(t, func(r *rig) {
		app := r.begin(greet("greet", "done", step("a"), step("b")))
		run, err := app.Start(r.ctx, "greet", []byte(`"x"`))
		if err != nil {
			r.Fatal(err)
		}
		if _, err := run.Result(r.ctx); err != nil {
			r.Fatal(err)
		}
		h, _ := export(r, app.App, run.ID())
		for name, c := range map[string]struct {
			def  stepwell.Definition
			want string // "" fits
		}{
			"the same":      {greet("greet", "done", step("a"), step("b")), ""},
			"another step":  {greet("greet", "done", step("a"), step("c")), `step "c"`},
			"one more":      {greet("greet", "done", step("a"), step("b"), step("c")), `the code asks  step "c"`},
			"one less":      {greet("greet", "done", step("a")), "nothing more"},
			"another order": {greet("greet", "done", step("b"), step("a")), `step "b"`},
			"a new output":  {greet("greet", "finished", step("a"), step("b")), `to complete with output "finished"`},
			"a panic":       {greet("greet", "done", step("a"), func(stepwell.Context) error { panic("ouch") }), "ouch"},
			"unknown":       {greet("other", "done"), "greet version 1 is not registered"},
			"a new input": {stepwell.Define("greet", func(stepwell.Context, int) (string, error) { return "", nil }),
				"DECODE"},
		} {
			checker, err := stepwell.New(memory.New(), stepwell.Config{Definitions: []stepwell.Definition{c.def}})
			if err != nil {
				r.Fatal(err)
			}
			err = checker.Check(r.ctx, h)
			if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				r.Errorf("%s: Check = %v, want %q in it", name, err, c.want)
			}
		}
	})
}

// TestImportedRunsGoOn: a run is exported at each event, brought to another world, resumed there, and ends as it did at home.
func TestImportedRunsGoOn(t *testing.T) {
	for _, s := range stories {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			onWorlds(t, func(r *rig) {
				d := &diary{}
				app := r.beginWith(stepwell.Config{Definitions: s.defs(d)})
				h, _ := export(r, app.App, s.tell(r, app, d))
				want := r.get(h.Run)
				app.stop(r.T)
				for n, e := range r.events(h.Run) {
					if n == 0 || e.Commit != e.Seq || wantsChild(h.Events[:n]) {
						continue // no worker would have left it there, or its child stays behind
					}
					other := *r
					other.world = memory.New()
					d := &diary{}
					app := other.beginWith(stepwell.Config{Definitions: s.defs(d)})
					if err := app.Import(r.ctx, &stepwell.History{Run: h.Run, Events: h.Events[:n]}, stepwell.ImportOptions{}); err != nil {
						r.Fatal(err)
					}
					if row := other.get(h.Run); row.Status.Terminal() || !row.Queue.Paused {
						r.Fatalf("imported at event %d: the run is not paused", n)
					}
					if err := app.Resume(r.ctx, h.Run); err != nil {
						r.Fatal(err)
					}
					s.live(&other, app, h.Run)
					got := s.over(&other, h.Run)
					if got.Status != want.Status || string(got.Output) != string(want.Output) {
						r.Errorf("imported at event %d: %s %s, want %s %s", n, got.Status, got.Output, want.Status, want.Output)
					}
					err := app.Import(r.ctx, h, stepwell.ImportOptions{})
					if !errors.Is(err, stepwell.ErrRunExists) {
						r.Errorf("imported again: %v, want ErrRunExists", err)
					}
					app.stop(r.T)
					if err := other.world.Close(); err != nil {
						r.Error(err)
					}
				}
			})
		})
	}
}

// wantsChild reports whether a child is asked for, and its result is not there.
func wantsChild(events []world.Event) bool {
	open := map[string]bool{}
	for _, e := range events {
		switch {
		case e.Kind == world.KindChild:
			open[e.ID] = true
		case e.Type == world.StepCompleted || e.Type == world.StepFailed:
			delete(open, e.ID)
		}
	}
	return len(open) > 0
}

// TestGoldenHistories replays the logs of every release, at every event, with the code that wrote them. With -update-histories it writes those that
// this release has not got yet; what is there is never written again.
func TestGoldenHistories(t *testing.T) {
	const dir = "testdata/histories/format1"
	for _, s := range stories {
		t.Run(s.name, func(t *testing.T) {
			path := filepath.Join(dir, s.name+".jsonl")
			if _, err := os.Stat(path); err != nil && *updateHistories {
				writeGolden(t, &s, path)
			}
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			checker, err := stepwell.New(memory.New(), stepwell.Config{Definitions: s.defs(&diary{})})
			if err != nil {
				t.Fatal(err)
			}
			for h, err := range stepwell.ReadHistories(bytes.NewReader(text)) {
				if err != nil {
					t.Fatal(err)
				}
				for n := range h.Events {
					if err := checker.Check(t.Context(), &stepwell.History{Run: h.Run, Events: h.Events[:n+1]}); err != nil {
						t.Errorf("run %s, at event %d: %v", h.Run, n+1, err)
					}
				}
			}
		})
	}
}

func writeGolden(t *testing.T, s *story, path string) {
	t.Helper()
	bubble(t, func(testing.TB) world.World { return memory.New() }, func(*stepwell.Config) {}, func(r *rig) {
		d := &diary{}
		app := r.beginWith(stepwell.Config{Definitions: s.defs(d), Build: "golden"})
		run := s.tell(r, app, d)
		var b bytes.Buffer
		for info, err := range app.List(r.ctx, stepwell.ListFilter{}) {
			if err == nil {
				err = app.Export(r.ctx, info.ID, &b)
			}
			if err != nil {
				r.Fatal(err)
			}
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			r.Fatal(err)
		}
		if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
			r.Fatal(err)
		}
		r.Logf("wrote %s, run %s", path, run)
	})
}

func TestExportOfNothing(t *testing.T) {
	onWorlds(t, func(r *rig) {
		var b bytes.Buffer
		if err := r.client().Export(r.ctx, "wrun_none", &b); !errors.Is(err, stepwell.ErrNotFound) || b.Len() > 0 {
			r.Errorf("Export = %v and %d bytes, want ErrNotFound and none", err, b.Len())
		}
		if err := r.client().Import(r.ctx, &stepwell.History{Run: "wrun_none"}, stepwell.ImportOptions{}); !errors.Is(err, stepwell.ErrInvalid) {
			r.Errorf("Import = %v, want ErrInvalid", err)
		}
	})
}

// TestImportedRunsAreKept: the retention of a run that is over counts from its import.
func TestImportedRunsAreKept(t *testing.T) {
	onWorlds(t, func(r *rig) {
		d := &diary{}
		s := &stories[3]
		app := r.beginWith(stepwell.Config{Definitions: s.defs(d), SweepInterval: -1})
		h, _ := export(r, app.App, s.tell(r, app, d))
		app.stop(r.T)
		r.pass(25 * time.Minute)
		h.Events[0].Birth.Retention = 10 * time.Minute
		h.Run = "elsewhere"
		if err := r.client().Import(r.ctx, h, stepwell.ImportOptions{}); err != nil {
			r.Fatal(err)
		}
		if n, err := r.world.Sweep(r.ctx, 10); n != 0 || err != nil {
			r.Errorf("swept %d runs, %v; want none yet", n, err)
		}
	})
}
