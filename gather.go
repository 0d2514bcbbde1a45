package stepwell

// Workflows whose starts are gathered into one run: what a definition says, and what a start makes of it.

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/stepwell/stepwell/internal/codec"
	"github.com/stepwell/stepwell/internal/engine"
	"github.com/stepwell/stepwell/internal/kit"
	"github.com/stepwell/stepwell/world"
)

// Debounce is a workflow option that merges starts with the same key into one run. The run begins
// with the last input, once no further start has come for the time Quiet.
//
//	var Index = stepwell.Define("index", index, stepwell.Debounce{By: "id", Quiet: 30 * time.Second})
//
// The first start creates the run as pending. Each further start replaces its input and returns the
// same run: see [Run.Merged]. The log keeps all inputs. The database counts the time, so no process
// has to stay alive. The run keeps the tags, attributes, priority and limit keys of its first
// start.
//
// Such a workflow can be started by clients and from steps. It cannot be a child run or run on a
// schedule. Its starts cannot have an ID, a delay or a transaction.
type Debounce struct {
	By  string  // where the key is in the input's JSON: see [Limit]; "": all starts share one run
	Key KeyFunc // computes the key, instead of By
	// Quiet is the time without a further start after which the run begins.
	Quiet time.Duration
	// Longest is the longest time from the first input to the run's begin. Default 10 × Quiet.
	Longest time.Duration
}

// Batch is a workflow option that merges starts with the same key into one run, with the inputs of
// all. The input of the workflow is a list, []T; a start adds one item or several. The run begins
// once it has Size items or 1 MiB, or once its first item has waited for the time Wait. The
// restrictions of [Debounce] apply.
type Batch struct {
	By   string  // where the key is in an item's JSON: see [Limit]; "": all starts share one run
	Key  KeyFunc // computes the key of an item, instead of By
	Size int     // the run begins with this many items
	// Wait is the longest time that the first item waits.
	Wait time.Duration
}

func (d Debounce) workflowOption(o *workflowOptions) {
	g := gathering{by: d.By, key: d.Key, quiet: d.Quiet, most: cmp.Or(d.Longest, 10*d.Quiet)}
	switch {
	case d.Quiet <= 0:
		g.bad = fmt.Errorf("%w: debounce: the quiet time is %s: must be above zero", ErrInvalid, d.Quiet)
	case d.Longest < 0:
		g.bad = fmt.Errorf("%w: debounce: the longest wait is %s: must be above zero", ErrInvalid, d.Longest)
	}
	o.gathers(g)
}

func (b Batch) workflowOption(o *workflowOptions) {
	o.gathers(gathering{by: b.By, key: b.Key, most: b.Wait, number: b.Size, batch: true})
}

func (o *workflowOptions) gathers(g gathering) {
	if o.gather != nil {
		o.faults = append(o.faults, fmt.Errorf("%w: only one debounce or batch is allowed", ErrInvalid))
	}
	o.gather = &g
}

func init() {
	kit.Gathers = func(workflow any) bool {
		w, ok := workflow.(interface{ merges() bool })
		return ok && w.merges()
	}
}

// gathering is a debounce or a batch of a definition.
type gathering struct {
	by     string
	key    KeyFunc
	batch  bool
	number int // of a batch
	quiet  time.Duration
	most   time.Duration // from the first input on
	bad    error
}

func (w *Workflow[In, Out]) merges() bool { return w.gather != nil }

// said is what starters elsewhere are told of it.
func (g *gathering) said() *world.SaidGather {
	if g == nil {
		return nil
	}
	return &world.SaidGather{Quiet: g.quiet, Most: g.most, Number: g.number, Path: g.by, Computed: g.key.of != nil}
}

// keyOf computes the key of an input; nil: it stands at a path, or there is none.
func (g *gathering) keyOf() func(input []byte) (string, error) {
	if g == nil {
		return nil
	}
	return g.key.of
}

// fault is what is wrong with it, for an input.
func (g *gathering) fault(in reflect.Type, all limits) error {
	if g == nil {
		return nil
	}
	item := in
	switch {
	case g.bad != nil:
		return g.bad
	case slices.ContainsFunc(all, func(l limit) bool { return l.single != "" }):
		return fmt.Errorf("%w: a workflow with a debounce or a batch cannot be a singleton: use a limit of one run at once instead", ErrInvalid)
	case g.batch && (in.Kind() != reflect.Slice || in.Elem().Kind() == reflect.Uint8):
		return fmt.Errorf("%w: batch: the input is %s: want a slice of the items to gather", ErrInvalid, in)
	case g.batch:
		item = in.Elem()
	}
	if err := keyFault(g.by, g.key, item); err != nil {
		return fmt.Errorf("debounce or batch: %w", err)
	}
	return g.said().Check()
}

// gathers is what a start comes to whose workflow gathers: nil, where it does not.
type gathers struct {
	said *world.SaidGather
	of   func(input []byte) (string, error) // computes the key of an input; nil: it stands at a path, or there is none
}

// gathersOf is that of a workflow that is started by its name.
func gathersOf(ctx context.Context, book *engine.Book, here workflows, class world.Class) (*gathers, error) {
	if own := here[class]; own != nil {
		return gathersHere(own.Gather, own.GatherKey), nil
	}
	if world.CheckWorkflowName(class.Workflow) != nil {
		return nil, nil // the start says so
	}
	known, err := book.Workflow(ctx, class.Workflow)
	if err != nil {
		return nil, err
	}
	says, _ := known.Version(class.Version)
	return gathersHere(says.Gather, nil), nil
}

func gathersHere(said *world.SaidGather, of func([]byte) (string, error)) *gathers {
	if said == nil {
		return nil
	}
	return &gathers{said, of}
}

// list makes a list of one of an input that is none, where the workflow takes a list of what it gathers.
func (g *gathers) list(input json.RawMessage) json.RawMessage {
	if g == nil || g.said.Quiet > 0 {
		return input
	}
	if text := bytes.TrimSpace(input); len(text) > 0 && text[0] != '[' && json.Valid(text) {
		return slices.Concat([]byte("["), text, []byte("]"))
	}
	return input
}

// birth says how a start with an input is gathered, and how many inputs it has.
func (g *gathers) birth(o *startOptions, input []byte, limit int) (*world.Gather, int, error) {
	if g == nil {
		return nil, 0, nil
	}
	switch {
	case o.schedule != nil:
		return nil, 0, fmt.Errorf("%w: starts of this workflow are merged, but each run of a schedule is separate: let the schedule start another workflow that starts this one in a step", ErrInvalid)
	case o.ID != "":
		return nil, 0, fmt.Errorf("%w: starts of this workflow are merged, so none can have its own run ID: give an idempotency key instead", ErrInvalid)
	case o.Delay != 0:
		return nil, 0, fmt.Errorf("%w: starts of this workflow are gathered, so they cannot have a delay", ErrInvalid)
	case o.In != nil:
		return nil, 0, fmt.Errorf("%w: starts of this workflow are merged, which cannot happen in a transaction: start it after the transaction, or with a message or an event that is part of it", ErrInvalid)
	}
	if err := codec.CheckSize(input, min(limit, world.MaxBatchBytes)); err != nil {
		return nil, 0, fmt.Errorf("the gathered input: %w", err)
	}
	items := []json.RawMessage{input}
	if g.said.Quiet == 0 {
		var err error
		if items, err = world.Items(input); err != nil {
			return nil, 0, fmt.Errorf("input: %w", err)
		}
		if n := len(items); n == 0 || n > g.said.Number {
			return nil, 0, fmt.Errorf("%w: input: %d items: want 1 to %d at once, the size of the batch", ErrInvalid, n, g.said.Number)
		}
	}
	key, err := g.keyOf(items)
	if err != nil {
		return nil, 0, err
	}
	is := g.said.Gather(key)
	if err := is.Check(); err != nil {
		return nil, 0, err
	}
	if len(items) == is.Number { // it is whole, and waits for nobody
		return &is, 0, nil
	}
	return &is, len(items), nil
}

// keyOf is the one key that inputs have.
func (g *gathers) keyOf(items []json.RawMessage) (key string, err error) {
	for i, item := range items {
		k, err := "", error(nil)
		if g.of != nil {
			k, err = g.of(item)
		} else {
			k, err = g.said.Key(item)
		}
		switch {
		case err != nil:
			return "", fmt.Errorf("key of a debounce or a batch: %w", err)
		case i > 0 && k != key:
			return "", fmt.Errorf("%w: items with the keys %.80q and %.80q belong to different batches: start them separately", ErrInvalid, key, k)
		}
		key = k
	}
	return key, nil
}

// notGathered refuses to start a child whose starts are gathered.
func notGathered(said *world.SaidGather) error {
	if said == nil {
		return nil
	}
	return fmt.Errorf("%w: starts of this workflow are merged, but a child belongs to one parent: start it in a step, with Start", ErrInvalid)
}

// readGathered reads what a run has gathered: its row has the first input.
func readGathered(ctx context.Context, a *App, info *RunInfo) {
	if info.Gather == nil || info.Sealed {
		return
	}
	input := info.Input
	for e, err := range a.Events(ctx, info.ID, EventFilter{Types: []world.EventType{world.InputReceived, world.RunStarted}}) {
		if err != nil || e.Type == world.RunStarted { // what cannot be read is told by who reads the log
			break
		}
		input = info.Gather.JoinInput(input, e.Payload)
	}
	info.Input = input
}
