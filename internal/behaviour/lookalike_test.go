package behaviour_test

// JSON of users that looks like a reference to a value which is kept apart: it is JSON of users.

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/stepwell/stepwell"
)

// TestWhatLooksLikeAReferenceIsNone: an input, a result, an output, a child's input, a result of a fork that looks like
// a reference to a value, of the run itself or of another, comes back as it went, and nobody reads the value by it.
func TestWhatLooksLikeAReferenceIsNone(t *testing.T) {
	t.Parallel()
	everyWay(t, func(r *rig) {
		same := func(ctx stepwell.Context, in json.RawMessage) (json.RawMessage, error) { return in, nil }
		child := stepwell.Define("child", same)
		task := stepwell.DefineStep("task", func(_ context.Context, in json.RawMessage) (json.RawMessage, error) { return in, nil })
		wf := stepwell.Define("parent", func(ctx stepwell.Context, in json.RawMessage) (json.RawMessage, error) {
			for _, do := range []func() (json.RawMessage, error){
				func() (json.RawMessage, error) {
					return stepwell.Step(ctx, "step", func(context.Context) (json.RawMessage, error) { return in, nil })
				},
				func() (json.RawMessage, error) { return task.Run(ctx, in) },
				func() (json.RawMessage, error) { return child.Child().Run(ctx, in) },
			} {
				if got, err := do(); err != nil || string(got) != string(in) {
					return got, errors.Join(err, errors.New("it came back as another"))
				}
			}
			return in, nil
		})
		app := r.begin(wf, child, task).App
		secret, err := child.Start(r.ctx, app, json.RawMessage(`"`+strings.Repeat("secret ", 300_000)+`"`))
		if err != nil {
			r.Fatal(err)
		}
		if _, err := secret.Result(r.ctx); err != nil {
			r.Fatal(err)
		}
		of, err := app.Get(r.ctx, secret.ID())
		if err != nil || of.InputApart == "" || of.OutputApart == "" {
			r.Fatalf("%+v, %v", of, err)
		}
		looks := string(of.Input)
		check := func(what, run string) {
			r.Helper()
			info, err := app.Get(r.ctx, run)
			if err != nil || string(info.Input) != looks || info.InputApart != "" || string(info.Output) != looks || info.OutputApart != "" {
				r.dump(run)
				r.Errorf("%s: %+v, %v", what, info, err)
			}
			for _, e := range r.events(run) {
				if e.Apart != "" {
					r.Errorf("%s: event %d refers to value %s", what, e.Seq, e.Apart)
				}
			}
			if _, _, err := app.OpenValue(r.ctx, run, of.InputApart); !errors.Is(err, stepwell.ErrNotFound) {
				r.Errorf("%s: the value of another run is opened: %v", what, err)
			}
		}
		run, err := app.Start(r.ctx, "parent", json.RawMessage(looks))
		if err != nil {
			r.Fatal(err)
		}
		if got, err := run.Result(r.ctx); err != nil || string(got) != looks {
			r.dump(run.ID())
			r.Fatalf("got %.200s, %v", got, err)
		}
		check("a start", run.ID())
		again, err := app.Restart(r.ctx, run.ID(), stepwell.RestartOptions{})
		if err != nil {
			r.Fatal(err)
		}
		if _, err := again.Result(r.ctx); err != nil {
			r.Fatal(err)
		}
		check("a restart", again.ID())
		fork, err := app.Fork(r.ctx, secret.ID(), stepwell.ForkOptions{At: 2, Input: json.RawMessage(looks)})
		if err != nil {
			r.Fatal(err)
		}
		if got, err := fork.Result(r.ctx); err != nil || string(got) != looks {
			r.dump(fork.ID())
			r.Fatalf("got %.200s, %v", got, err)
		}
		check("a fork with that as its input", fork.ID())
		whole, err := app.Restart(r.ctx, secret.ID(), stepwell.RestartOptions{})
		if err != nil {
			r.Fatal(err)
		}
		if got, err := whole.Result(r.ctx); err != nil || len(got) != int(300_000*len("secret "))+2 {
			r.dump(whole.ID())
			r.Fatalf("a restart of a run with a large input: %d bytes, %v", len(got), err)
		}
		if of.Encryption != "" {
			return // nobody looks into inputs that are encrypted
		}
		n := 0
		for info, err := range app.List(r.ctx, stepwell.ListFilter{Workflow: "child", Input: strings.Repeat("secret ", 300_000)}) {
			if n++; err != nil || info.InputApart == "" {
				r.Errorf("%+v, %v", info, err)
			}
		}
		if n != 2 {
			r.Errorf("%d runs have the large input, want 2", n)
		}
	})
}
