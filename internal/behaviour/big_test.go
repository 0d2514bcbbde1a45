package behaviour_test

// Values that are too large for a log: they are kept apart, and nobody who works with them sees it.

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/world"
)

// big is a text of a number of bytes over 1 MiB that no other number makes.
func big(n int) string {
	return strings.Repeat("big "+string(rune('a'+n%26)), 300_000) + strings.Repeat("x", n)
}

var (
	bigTask  = stepwell.DefineStep("task", func(_ context.Context, s string) (string, error) { return s + "task", nil })
	bigChild = stepwell.Define("big-child", func(ctx stepwell.Context, s string) (string, error) {
		return stepwell.Step(ctx, "again", func(context.Context) (string, error) { return s + "child", nil })
	})
	bigRun = stepwell.Define("big", func(ctx stepwell.Context, in string) (string, error) {
		made, err := stepwell.Step(ctx, "make", func(context.Context) (string, error) { return big(1), nil })
		if err != nil {
			return "", err
		}
		a, b := bigTask.Start(ctx, made), bigTask.Start(ctx, in)
		both, err := stepwell.All(ctx, a, b)
		if err != nil {
			return "", err
		}
		if err := stepwell.Sleep(ctx, "rest", time.Minute); err != nil {
			return "", err
		}
		child, err := bigChild.Child().Run(ctx, both[1])
		if err != nil {
			return "", err
		}
		if both[0] != made+"task" {
			return "", errors.New("the first task's result is not what it made")
		}
		if len(in) < 2*len(big(0)) {
			return "", stepwell.ContinueAsNew(ctx, child+made)
		}
		return child, nil
	})
)

// TestBigValues: inputs, results of steps in place and queued, children and segments of several MiB come as they went,
// and the log has none of them.
func TestBigValues(t *testing.T) {
	t.Parallel()
	everyWay(t, func(r *rig) {
		app := r.begin(bigRun, bigTask, bigChild).App
		run, err := bigRun.Start(r.ctx, app, big(2))
		if err != nil {
			r.Fatal(err)
		}
		second := big(2) + "taskchild" + big(1)
		want := second + "taskchild"
		got, err := run.Result(r.ctx)
		if err != nil || got != want {
			r.Fatalf("%d bytes, %v, want %d bytes", len(got), err, len(want))
		}
		row, err := app.Get(r.ctx, run.ID())
		if err != nil {
			r.Fatal(err)
		}
		of, ok := world.ReadApart(row.Output)
		if !ok || of.Size != int64(len(want)+2) {
			r.Fatalf("the output is %.100s, want a reference to %d bytes", row.Output, len(want)+2)
		}
		from, size, err := stepwell.OpenValue(r.ctx, app, run.ID(), of.ID)
		if err != nil || size != of.Size {
			r.Fatal(size, err)
		}
		text, err := io.ReadAll(from)
		if err != nil || string(text) != `"`+want+`"` {
			r.Errorf("the value has %d bytes, %v, want %d", len(text), err, len(want)+2)
		}
		refs := 0
		for _, e := range r.events(run.ID()) {
			if len(e.Payload) > 2000 {
				r.Errorf("event %d (%s) has %d bytes", e.Seq, e.Type, len(e.Payload))
			}
			refs += len(e.Apart)
		}
		if refs < 10 {
			r.Errorf("%d events refer to values, want all that are large", refs)
		}
	})
}
