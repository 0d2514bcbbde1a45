package queue_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/internal/faults"
	"github.com/stepwell/stepwell/queue"
	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/memory"
	"github.com/stepwell/stepwell/world/sqlite"
)

var orders = queue.Define[mail]("orders")

var ordered = stepwell.Define("ordered", func(_ stepwell.Context, m mail) (string, error) { return fmt.Sprint(m.To, m.N), nil })

// startedBy are the inputs of all runs of a workflow.
func startedBy(t *testing.T, w world.World) (all []string) {
	t.Helper()
	page, err := w.Runs(t.Context(), world.RunQuery{Limit: 100})
	if err != nil {
		t.Fatal(err)
	}
	for i := range page.Runs {
		all = append(all, strings.Join([]string{string(page.Runs[i].Input), page.Runs[i].Key}, " "))
	}
	slices.Sort(all)
	return all
}

// TestStartsWorkflow starts a run for each message, and one for all that have a key.
func TestStartsWorkflow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := memory.New()
		app := run(t, w, ordered, queue.StartsWorkflow(orders, ordered, func(m *queue.Message[mail]) string {
			if m.Payload.To == "twice" {
				return "only"
			}
			return ""
		}))
		if _, err := orders.SendAll(t.Context(), app.App, []mail{{"ann", 1}, {"ann", 1}, {"twice", 2}, {"twice", 2}}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		want := []string{`{"to":"ann","n":1} `, `{"to":"ann","n":1} `, `{"to":"twice","n":2} only`}
		if got := startedBy(t, w); !slices.Equal(got, want) {
			t.Errorf("runs: got %q, want %q", got, want)
		}
		if left := counts(t, w, "orders"); len(left) != 0 {
			t.Errorf("messages are left: %v", left)
		}
	})
}

// TestStartsWorkflowKilled loses, before and after it is written, each commit of a program that starts runs for
// messages, and the program with it; the next one goes on. Each message has started one run.
func TestStartsWorkflowKilled(t *testing.T) {
	for _, late := range []bool{false, true} {
		for n := 1; n <= 4; n++ {
			t.Run(fmt.Sprintf("commit %d, after %t", n, late), func(t *testing.T) {
				t.Parallel()
				below, err := sqlite.Open(filepath.Join(t.TempDir(), "runs.db"))
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { _ = below.Close() })
				sender, err := stepwell.New(below, stepwell.Config{Logger: slog.New(slog.DiscardHandler)})
				if err != nil {
					t.Fatal(err)
				}
				q := queue.Define[mail]("orders", queue.Visibility(time.Second))
				if _, err := q.SendAll(t.Context(), sender, []mail{{"ann", 1}, {"bob", 2}, {"cid", 3}}); err != nil {
					t.Fatal(err)
				}
				died := make(chan struct{})
				dying := faults.New(below, func(c faults.Call) faults.Fault {
					switch {
					case c.Op != faults.Commit || c.N < n:
						return faults.Fault{}
					case c.N == n:
						close(died)
						return faults.Fault{Err: world.ErrClosed, Lost: late}
					}
					return faults.Fault{Err: world.ErrClosed}
				})
				first := run(t, dying, queue.StartsWorkflow(q, ordered, nil))
				select {
				case <-died:
				case <-time.After(2 * time.Second): // the handlers of all others were told of the first
				}
				first.stop()
				run(t, below, ordered, queue.StartsWorkflow(q, ordered, nil))
				want := []string{`{"to":"ann","n":1} `, `{"to":"bob","n":2} `, `{"to":"cid","n":3} `}
				tick := time.NewTicker(10 * time.Millisecond)
				defer tick.Stop()
				for end := time.Now().Add(20 * time.Second); len(counts(t, below, "orders")) > 0 && time.Now().Before(end); {
					<-tick.C
				}
				if got := startedBy(t, below); !slices.Equal(got, want) {
					t.Errorf("runs: got %q, want %q", got, want)
				}
			})
		}
	}
}

func TestStartsWorkflowRefuses(t *testing.T) {
	for what, d := range map[string]stepwell.Definition{
		"no queue":       queue.StartsWorkflow[mail, string](nil, ordered, nil),
		"no workflow":    queue.StartsWorkflow[mail, string](orders, nil, nil),
		"a bad parallel": queue.StartsWorkflow(orders, ordered, nil, queue.Parallel(-1)),
	} {
		if _, err := stepwell.New(memory.New(), stepwell.Config{Definitions: []stepwell.Definition{d}}); !errors.Is(err, stepwell.ErrInvalid) {
			t.Errorf("%s: got %v, want ErrInvalid", what, err)
		}
	}
}

// Of two handlers of one queue chance would choose: they are refused, also under two definitions of the queue.
func TestTwoHandlersAreRefused(t *testing.T) {
	handle := func(context.Context, *queue.Message[mail]) error { return nil }
	again := queue.Define[mail](orders.Name())
	one := orders.Handle(handle)
	for what, all := range map[string][]stepwell.Definition{
		"two handlers":           {one, again.Handle(handle)},
		"a handler twice":        {one, one},
		"a handler, and runs":    {one, queue.StartsWorkflow(again, ordered, nil)},
		"runs of a queue, twice": {queue.StartsWorkflow(orders, ordered, nil), queue.StartsWorkflow(again, ordered, nil)},
	} {
		_, err := stepwell.New(memory.New(), stepwell.Config{Definitions: all})
		if want := "a handler of queue " + orders.Name() + " twice"; !errors.Is(err, stepwell.ErrInvalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", what, err, want)
		}
	}
	if _, err := stepwell.New(memory.New(), stepwell.Config{Definitions: []stepwell.Definition{one, queue.Define[mail]("others").Handle(handle)}}); err != nil {
		t.Errorf("handlers of two queues: %v", err)
	}
}
