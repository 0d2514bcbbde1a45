package stepwell

// Limits of workflows, steps and queues: what a definition says, and what a start makes of it.

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"time"

	"github.com/stepwell/stepwell/internal/codec"
	"github.com/stepwell/stepwell/internal/engine"
	"github.com/stepwell/stepwell/internal/kit"
	"github.com/stepwell/stepwell/world"
)

// Limit limits how many runs of a workflow work at once ([Limit].AtOnce), or how many begin in a
// period (Rate), over all processes. It is an option of [Define]. As an option of [DefineStep] it
// counts attempts of the step, in all runs; such a step is always queued. As a limit of a queue it
// counts messages: see package queue.
//
//	var Import = stepwell.Define("import", importFile,
//		stepwell.Limit{AtOnce: 10, By: "tenant"},
//		stepwell.Limit{AtOnce: 100, Name: "all-imports"})
//
// Here at most ten imports of one tenant work at once, and at most a hundred in all. Other runs
// wait in line: within a tenant by priority, then in the order of their starts; between tenants in
// turn. A workflow may have several limits with different names. A run needs a place of each, and
// takes the limits with keys first.
//
// Only work counts. A run that waits for time, an event or another run gives its place back. When
// it wakes it stands in line again, ahead of runs that were started later.
//
// With a rate, runs begin evenly over the period; the others wait in order. A run counts once, when
// a worker first claims it: not after a sleep, not after a crash, and not for further attempts of
// its steps. To limit each call, put the limit on a registered step, which counts each attempt. A
// queue counts each receive.
//
// The numbers can be changed while programs run: see docs/limits.md.
type Limit struct {
	AtOnce int           // how many work at once; or
	Rate   int           // how many begin in each period
	Per    time.Duration // the period of a rate: 1 ms to 366 days

	// By is where the key is in the JSON of the input, or of a message's payload: "customer.id".
	// Each key has its own places and its own line. The key is a string, a number or a boolean of
	// at most 256 bytes; 1, 1.0 and 1e0 are one key. Programs without the workflow's code can
	// compute it too. "": no key, and one line for all.
	By string
	// Key computes the key, instead of By: see [KeyOf]. It is called once, when the run is started
	// or the message is sent.
	Key KeyFunc
	// Name identifies the limit. The default is the name of the workflow, the step or the queue.
	// Limits with the same name share places, also between workflows. The worker that joined last
	// sets the number.
	Name string
	// Burst is how many runs of a key may begin at once after a pause. Only for a Rate. Default 1.
	Burst int
	// Weights gives keys unequal shares, for AtOnce: a key of weight 3 has three times the places.
	// While all keys have runs in line, it also gets three times the share of workers and of further
	// limits. A weight is 1 to 100, and 1 for other keys. At most 1,000 keys can have one. The
	// worker that joined last sets the weights; nil leaves them unchanged.
	Weights map[string]int
	// UntilEnd makes a run keep its place until it is over, also while it waits. Use it for one
	// order of a customer at a time.
	UntilEnd bool
	// Refuse makes a Rate refuse starts that are over the limit, instead of letting them wait. The
	// error is [ErrRateLimited], and a [*world.RateError] says when to try again. Only clients can
	// start such a workflow, not a parent run or a schedule. A repeated start with the same key or
	// ID counts once.
	//
	// In a transaction of yours on PostgreSQL, a start counts before it is written. So it counts
	// even if you roll back, and the same start in two transactions counts twice.
	Refuse bool
}

// KeyFunc computes a key from an input: see [KeyOf].
type KeyFunc struct {
	in    reflect.Type
	of    func(input []byte) (string, error)
	fault error
}

// KeyOf returns a KeyFunc for a [Limit], a [Singleton], a [Debounce] or a [Batch]. A key has at
// most 256 bytes. If a field of the input is the key, prefer By: then programs without this code,
// such as REST clients, can start runs too.
func KeyOf[In any](of func(in In) string) KeyFunc {
	if of == nil {
		return KeyFunc{fault: kit.Missing("the function of the key")}
	}
	return KeyFunc{in: reflect.TypeFor[In](), of: codec.KeyOf(of)}
}

// Singleton is a workflow option: at most one run with the same key is live, from start to end,
// over all processes. Without By and Key there is one run of the workflow.
//
//	var Sync = stepwell.Define("sync", sync, stepwell.Singleton{By: "id", Replace: true})
//
// A start that finds a live run returns that run: see [Run.Existed]. With Replace, the start
// cancels the live run, and the new run begins once the live one has cleaned up and ended. If a new
// run already waits for that, the start replaces the waiting run. A run keeps its key when it
// continues as new.
//
// A child run with Replace replaces the live run too, unless that is its own parent; then it fails
// with [ErrRunExists]. Without Replace it fails with ErrRunExists if a run is live: a child never
// adopts an existing run.
//
// Retries, forks and restarts never replace a live run: they fail with ErrRunExists. A start in a
// transaction ([In]) is refused.
type Singleton struct {
	By      string  // where the key is in the input's JSON: see [Limit]
	Key     KeyFunc // computes the key, instead of By
	Replace bool    // a start, or a child run, cancels the live run and replaces it
}

// limit is one of a definition.
type limit struct {
	Limit
	single world.Single // of the one live run of a key; its name and number are given
}

func (l Limit) workflowOption(o *workflowOptions) { o.limits = append(o.limits, limit{Limit: l}) }

func (s Singleton) workflowOption(o *workflowOptions) {
	l := limit{Limit: Limit{By: s.By, Key: s.Key}, single: world.SingleKeep}
	if s.Replace {
		l.single = world.SingleReplace
	}
	o.limits = append(o.limits, l)
}

// stepDefinitionOption changes nothing of how a step is tried: see limitsOf.
func (l Limit) stepDefinitionOption(*engine.Policy) {}

// limitsOf are the limits among the options of a registered step.
func limitsOf(opts []StepDefinitionOption) (all limits) {
	for _, o := range opts {
		if l, is := o.(Limit); is {
			all = append(all, limit{Limit: l})
		}
	}
	return all
}

// ofStep is [limits.named] of a registered step, which has no limits that only runs have.
func (all limits) ofStep(step string, in reflect.Type) (faults []error) {
	if faults = all.named(step, in); len(faults) > 0 {
		return faults
	}
	if len(all) > world.MaxPlaces {
		return []error{fmt.Errorf("%w: %d limits: the most is %d", ErrInvalid, len(all), world.MaxPlaces)}
	}
	for i := range all {
		said := saidOf(&all[i])
		if err := said.CheckStep(); err != nil {
			faults = append(faults, err)
		}
	}
	return faults
}

// ofQueue is [limits.named] of a queue, which has no limits that only runs have.
func (all limits) ofQueue(queue string, in reflect.Type) ([]world.SaidLimit, error) {
	if faults := all.named(queue, in); len(faults) > 0 {
		return nil, errors.Join(faults...)
	}
	said := all.said()
	return said, world.CheckQueue(&world.MessageQueue{Name: queue, Limits: said})
}

// keys are those that a message with a payload has, by the names of the limits.
func (all limits) keys(payload []byte) (map[string]string, error) {
	places, err := all.places(payload)
	if err != nil {
		return nil, err
	}
	keys := make(map[string]string, len(places))
	for i := range places {
		keys[places[i].Limit] = places[i].Key
	}
	return keys, nil
}

func init() {
	kit.QueueLimits = func(queue string, in reflect.Type, given []any) ([]world.SaidLimit, func([]byte) (map[string]string, error), error) {
		var all limits
		for _, l := range given {
			all = append(all, limit{Limit: l.(Limit)})
		}
		said, err := all.ofQueue(queue, in)
		return said, all.keys, err
	}
}

// limits are those of a definition.
type limits []limit

// named gives the workflow's name to the limit that has none, and finds what is wrong.
func (all limits) named(workflow string, in reflect.Type) (faults []error) {
	seen := make(map[string]bool)
	for i := range all {
		l := &all[i]
		err := cmp.Or(l.Key.fault, l.fault(in))
		if l.single == "" {
			l.Name = cmp.Or(l.Name, workflow)
		} else {
			l.Name, l.AtOnce, l.UntilEnd = world.SingleName(workflow), 1, true
		}
		switch {
		case err != nil:
		case seen[l.Name] && l.single != "":
			err = fmt.Errorf("%w: a workflow can have only one singleton", ErrInvalid)
		case seen[l.Name]:
			err = fmt.Errorf("%w: two limits have this name: give one another Name", ErrInvalid)
		default:
			said := saidOf(l)
			err = said.Check()
		}
		if seen[l.Name] = true; err != nil {
			faults = append(faults, fmt.Errorf("limit %s: %w", l.Name, err))
		}
	}
	return faults
}

// fault is what is wrong with a limit by itself, for an input.
func (l *limit) fault(in reflect.Type) error {
	switch {
	case l.Rate == 0 && l.AtOnce == 0 && l.Per != 0:
		return world.CheckRate(0, l.Per, 0)
	case l.single == "" && (l.AtOnce == 0) == (l.Rate == 0):
		return fmt.Errorf("%w: say how many are at work at once, or how many begin in a period: AtOnce or Rate", ErrInvalid)
	case l.AtOnce < 0 || l.AtOnce > world.MaxLimit:
		return fmt.Errorf("%w: limit of %d at once: want 1 to %d", ErrInvalid, l.AtOnce, world.MaxLimit)
	case l.Rate != 0 && l.Per <= 0:
		return world.CheckRate(l.Rate, l.Per, 0)
	case l.Rate == 0 && l.Per != 0:
		return fmt.Errorf("%w: Per is the period of a rate, and this is none", ErrInvalid)
	case l.Burst < 0:
		return fmt.Errorf("%w: burst of %d: want 1 or more", ErrInvalid, l.Burst)
	}
	return keyFault(l.By, l.Key, in)
}

// keyFault is what is wrong with a key, for an input.
func keyFault(by string, key KeyFunc, in reflect.Type) error {
	switch {
	case key.fault != nil:
		return key.fault
	case by != "" && key.in != nil:
		return fmt.Errorf("%w: give the key as a function or as a path, not both", ErrInvalid)
	case key.in != nil && key.in != in:
		return fmt.Errorf("%w: its key is computed from %s, but the input is %s", ErrInvalid, key.in, in)
	case by != "" && !codec.Has(in, by):
		return fmt.Errorf("%w: its key stands at %q, which the JSON of %s does not have", ErrInvalid, by, in)
	}
	return nil
}

// said is what starters elsewhere are told of them.
func (all limits) said() (out []world.SaidLimit) {
	for i := range all {
		out = append(out, saidOf(&all[i]))
	}
	return out
}

func saidOf(l *limit) world.SaidLimit {
	return world.SaidLimit{
		Name: l.Name, Number: cmp.Or(l.AtOnce, l.Rate), UntilEnd: l.UntilEnd, Path: l.By, Computed: l.Key.of != nil, Per: l.Per, Burst: l.Burst, Refuse: l.Refuse, Single: l.single, Weights: l.Weights,
	}
}

// twoScopes refuses that two definitions of a program say a limit of two scopes.
func twoScopes(r *registrar) (faults []error) {
	own := make(map[string]world.Scope)
	check := func(of, name string, limits []world.SaidLimit) {
		for i := range limits {
			l := &limits[i]
			scope, is := own[l.Name]
			if err := world.CheckScope(l.Name, l.Scope(), scope); is && err != nil {
				faults = append(faults, fmt.Errorf("%s %q: %w", of, name, err))
			} else if !is {
				own[l.Name] = l.Scope()
			}
		}
	}
	for _, st := range r.steps {
		check("step", st.Name, st.Limits)
	}
	for _, wf := range r.workflows {
		check("workflow", wf.Name, wf.Limits)
	}
	for i := range r.parts {
		check("queue", r.parts[i].Of, r.parts[i].Limits)
	}
	return faults
}

// warnOfLimits says which limits were said otherwise before than this program says them, or says them itself in two
// ways: what is said last holds for all.
func warnOfLimits(ctx context.Context, a *App) {
	own := make(map[string]world.SaidLimit)
	warn := func(name, before, now string) {
		a.cfg.Logger.Warn("programs define the same limit differently", "limit", name, "before", before, "now", now,
			"hint", "The definition that was declared last applies to all of them: define it the same everywhere, or give one another Name. To see it: stepwell limits show "+name)
	}
	for _, class := range slices.SortedFunc(maps.Keys(a.known), func(x, y world.Class) int {
		return cmp.Or(cmp.Compare(x.Workflow, y.Workflow), cmp.Compare(x.Version, y.Version))
	}) {
		if wf := a.known[class]; class.Version == wf.Version { // else it is there by its name alone
			for _, l := range wf.Limits {
				if before, is := own[l.Name]; is && before.Text() != l.Text() {
					warn(l.Name, before.Text(), l.Text())
				}
				own[l.Name] = l
			}
		}
	}
	if len(own) == 0 {
		return
	}
	kept, err := a.world.Limits().ListLimits(ctx)
	if err != nil {
		return // it is said where it matters: when the worker joins
	}
	for i := range kept {
		before := world.SaidLimit{Number: kept[i].Said, Per: kept[i].Per, Burst: kept[i].Burst, Weights: kept[i].Weights}
		if l, is := own[kept[i].Name]; is && (before.Per > 0) == (l.Per > 0) && before.Text() != l.Text() {
			warn(l.Name, before.Text(), l.Text())
		}
	}
}

// places are what a run with an input needs.
func (all limits) places(input []byte) (places []world.Place, err error) {
	for i := range all {
		l := &all[i]
		said := saidOf(l)
		p := said.Place()
		if l.Key.of != nil {
			p.Key, err = l.Key.of(input)
		} else if l.By != "" {
			p.Key, err = world.KeyAt(input, l.By)
		}
		if err != nil {
			return nil, fmt.Errorf("limit %s: key: %w", l.Name, err)
		}
		places = append(places, p)
	}
	world.OrderPlaces(places)
	return places, world.CheckPlaces(places)
}

// limited says of a run that is ready, and that nobody takes, whether it stands in line; and so of a queued step.
func limited(ctx context.Context, a *App, w *Why) (err error) {
	if w.Kind == WhyTask && w.Worker == "" && w.ID != "" {
		if w.Line, err = a.world.Limits().InLine(ctx, w.Run, w.ID); err != nil && !errors.Is(err, ErrNotFound) {
			return fmt.Errorf("why run %s: the place in line of its step: %w", w.Run, err)
		}
		return nil
	}
	if w.Kind != WhyQueued && w.Kind != WhyNoWorker && w.Kind != WhyLimit {
		return nil
	}
	if w.Line, err = a.world.Limits().InLine(ctx, w.Run, ""); errors.Is(err, ErrNotFound) {
		return nil // it is gone meanwhile, or its server keeps no limits
	} else if err != nil {
		return fmt.Errorf("why run %s: its place in line: %w", w.Run, err)
	}
	switch {
	case w.Line != nil:
		w.Kind, w.Waiting = WhyLimit, ""
	case w.Kind == WhyLimit: // it was let in meanwhile
		w.Kind, w.Waiting, w.Peer = WhyQueued, "", ""
	case w.Kind == WhyNoWorker && w.Step == "":
		w.Holds, err = keeps(ctx, a, w)
	}
	return err
}

// keeps are the places that a run holds though nobody can go on with it: those that it was let in with, until its world
// gives them to others, and, where it has begun, those that it keeps until its end.
func keeps(ctx context.Context, a *App, w *Why) (held []world.Place, err error) {
	page, err := a.world.Events(ctx, w.Run, world.EventQuery{Limit: 1})
	if err != nil || len(page.Events) == 0 || page.Events[0].Birth == nil {
		return nil, err
	}
	b := page.Events[0].Birth
	for _, p := range b.Places {
		if p.UntilEnd || w.Status == world.Pending && b.NotBefore.IsZero() {
			held = append(held, p)
		}
	}
	if w.Status == world.Pending && (!b.NotBefore.IsZero() || b.Gather != nil) {
		return nil, nil // it takes them when somebody claims it
	}
	return held, nil
}

// placesOf are what a run of a workflow needs that is started by its name.
func placesOf(ctx context.Context, book *engine.Book, here workflows, class world.Class, input []byte) ([]world.Place, error) {
	if own := here[class]; own != nil {
		return own.Places(input)
	}
	known, err := book.Workflow(ctx, class.Workflow)
	if err != nil {
		return nil, err
	}
	says, _ := known.Version(class.Version)
	return world.SaidPlaces(says.Limits, input)
}

// placesAgain are what a run needs that is made of another with an input of its own: as the other did, where its code
// is not known here.
func placesAgain(a *App, b *world.Birth, version int, input []byte) ([]world.Place, error) {
	own := a.known[world.Class{Workflow: b.Workflow, Version: version}]
	if own == nil {
		return b.Places, nil
	}
	return own.Places(input)
}
