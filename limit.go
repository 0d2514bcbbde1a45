package stepwell

// Limits of workflows: what package limit says of a definition, and what a start makes of it.

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/stepwell/stepwell/internal/engine"
	"github.com/stepwell/stepwell/internal/kit"
	"github.com/stepwell/stepwell/world"
)

type limitOption kit.Limit

func (l limitOption) workflowOption(o *workflowOptions) { o.limits = append(o.limits, kit.Limit(l)) }

// stepOption refuses a limit at one call of a step: limits are those of its definition.
func (l limitOption) stepOption(p *engine.Policy) {
	if p.Fault == nil {
		p.Fault = fmt.Errorf("%w: set the limit of a registered step where you define it, with DefineStep; it applies to all its calls", ErrInvalid)
	}
}

// limitsOf takes the limits out of the options of a registered step.
func limitsOf(opts []StepOption) (all limits, others []StepOption) {
	for _, o := range opts {
		if l, is := o.(limitOption); is {
			all = append(all, kit.Limit(l))
		} else {
			others = append(others, o)
		}
	}
	return all, others
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

// DefinesQueue makes it an option of a queue.
func (l limitOption) DefinesQueue(q *kit.Defining) { q.Limited = append(q.Limited, kit.Limit(l)) }

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
	kit.NewLimit = func(l kit.Limit) any { return limitOption(l) }
	kit.QueueLimits = func(queue string, in reflect.Type, given []kit.Limit) ([]world.SaidLimit, func([]byte) (map[string]string, error), error) {
		all := limits(given)
		said, err := all.ofQueue(queue, in)
		return said, all.keys, err
	}
}

// limits are those of a definition.
type limits []kit.Limit

// named gives the workflow's name to the limit that has none, and finds what is wrong.
func (all limits) named(workflow string, in reflect.Type) (faults []error) {
	seen := make(map[string]bool)
	for i := range all {
		l := &all[i]
		err := l.Fault
		if l.Single == "" {
			l.Name = cmp.Or(l.Name, workflow)
		} else if l.Name != "" || l.UntilEnd || l.Burst != 0 || l.Refuse || l.Weights != nil {
			err = cmp.Or(err, fmt.Errorf("%w: a singleton accepts only the options limit.Key and limit.Path", ErrInvalid))
			l.Name = world.SingleName(workflow)
		} else {
			l.Name, l.Number, l.UntilEnd = world.SingleName(workflow), 1, true
		}
		switch {
		case err != nil:
		case seen[l.Name] && l.Single != "":
			err = fmt.Errorf("%w: a workflow can have only one singleton", ErrInvalid)
		case seen[l.Name]:
			err = fmt.Errorf("%w: two limits have this name: rename one with limit.Name", ErrInvalid)
		case l.Path != "" && l.In != nil:
			err = fmt.Errorf("%w: give the key as a function or as a path, not both", ErrInvalid)
		case l.In != nil && l.In != in:
			err = fmt.Errorf("%w: its key is computed from %s, but the input is %s", ErrInvalid, l.In, in)
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

// said is what starters elsewhere are told of them.
func (all limits) said() (out []world.SaidLimit) {
	for i := range all {
		out = append(out, saidOf(&all[i]))
	}
	return out
}

func saidOf(l *kit.Limit) world.SaidLimit {
	return world.SaidLimit{
		Name: l.Name, Number: l.Number, UntilEnd: l.UntilEnd, Path: l.Path, Computed: l.Of != nil, Per: l.Per, Burst: l.Burst, Refuse: l.Refuse, Single: l.Single, Weights: l.Weights,
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
			"hint", "The definition that was declared last applies to all of them: define it the same everywhere, or rename one with limit.Name. To see it: stepwell limits show "+name)
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
	if len(own) == 0 || a.able.LimitKeeper == nil {
		return
	}
	kept, err := a.able.LimitKeeper.Limits().ListLimits(ctx)
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
		if l.Of != nil {
			p.Key, err = l.Of(input)
		} else if l.Path != "" {
			p.Key, err = world.KeyAt(input, l.Path)
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
	if a.able.LimitKeeper != nil && w.Kind == WhyTask && w.Worker == "" && w.ID != "" {
		if w.Line, err = a.able.LimitKeeper.Limits().InLine(ctx, w.Run, w.ID); err != nil && !errors.Is(err, ErrNotFound) {
			return fmt.Errorf("why run %s: the place in line of its step: %w", w.Run, err)
		}
		return nil
	}
	if a.able.LimitKeeper == nil || w.Kind != WhyQueued && w.Kind != WhyNoWorker && w.Kind != WhyLimit {
		return nil
	}
	if w.Line, err = a.able.LimitKeeper.Limits().InLine(ctx, w.Run, ""); errors.Is(err, ErrNotFound) {
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
