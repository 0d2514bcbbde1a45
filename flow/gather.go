package flow

import (
	"context"
	"fmt"
	"reflect"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/internal/codec"
	"github.com/stepwell/stepwell/internal/kit"
)

// By says which starts are gathered together: those whose inputs have one key. [Key] computes it, [Path] finds it;
// nil: all of the workflow.
type By func(*kit.Gather)

// Key computes the key of a start from its input; of a batch, from each item. It is called where the run is started.
// A key has at most 256 bytes. A start by name, as over REST, has it where the definition is in the program that
// starts; use [Path] where it is not.
func Key[In any](of func(in In) string) By {
	return func(g *kit.Gather) {
		g.In = reflect.TypeFor[In]()
		if of == nil {
			g.Fault = kit.Missing("flow: the function of the key")
			return
		}
		g.Of = codec.KeyOf(of)
	}
}

// Path is where the key stands in the JSON of the input, or, of a batch, of an item, as in "customer.id": a text, a
// number or a truth. 1, 1.0 and 1e0 are one key.
func Path(path string) By { return func(g *kit.Gather) { g.Path = path } }

// DebounceOption changes a [Debounce]: [Longest].
type DebounceOption func(*kit.Gather)

// Longest is how long after its first input a debounced run begins at the latest. Without it, it is ten times the
// quiet time.
func Longest(d time.Duration) DebounceOption {
	return func(g *kit.Gather) {
		if g.Most = d; d <= 0 {
			g.Fault = fmt.Errorf("%w: debounce: the longest wait is %s: must be above zero", stepwell.ErrInvalid, d)
		}
	}
}

// Debounce is an option of a workflow: of its starts with one key, one run begins, when no further one has come for a
// quiet time, with the last input.
//
//	var Index = stepwell.Define("index", index,
//		flow.Debounce(flow.Path("id"), 30*time.Second, flow.Longest(10*time.Minute)))
//
// The run is there from the first start on, pending; each further start gives it its input, and returns it: see
// [stepwell.Run.Merged]. All inputs stay in its log. No process holds anything: the database does. What the run has
// beside its input (tags, attributes, priority, places of limits) is of its first start.
//
// Such a workflow is started from outside, and from steps; it is no child, runs on no schedule, and a start of it has
// no ID of its own, no delay, and no transaction.
func Debounce(by By, quiet time.Duration, opts ...DebounceOption) stepwell.WorkflowOption {
	g := kit.Gather{Quiet: quiet, Most: 10 * quiet}
	if quiet <= 0 {
		g.Fault = fmt.Errorf("%w: debounce: the quiet time is %s: must be above zero", stepwell.ErrInvalid, quiet)
	}
	if err := kit.Given(opts, func(o DebounceOption) { o(&g) }); err != nil && g.Fault == nil {
		g.Fault = err
	}
	return made(g, by)
}

// Batch is an option of a workflow that takes a list, []T: of its starts with one key, one run begins with all their
// inputs, as soon as it has n of them, 1 MiB, or the first has waited for a time. [Add] starts it with one item,
// Start with several. See [Debounce] for what else holds.
func Batch(by By, n int, wait time.Duration) stepwell.WorkflowOption {
	return made(kit.Gather{Number: n, Most: wait}, by)
}

func made(g kit.Gather, by By) stepwell.WorkflowOption {
	if by != nil {
		by(&g)
	}
	return kit.NewGather(g).(stepwell.WorkflowOption)
}

// Add adds an item to the batch that gathers, or opens one: it is a start with one item.
func Add[T, Out any](ctx context.Context, app *stepwell.App, w *stepwell.Workflow[[]T, Out], item T, opts ...stepwell.StartOption) (*stepwell.Run[Out], error) {
	return w.Start(ctx, app, []T{item}, opts...)
}
