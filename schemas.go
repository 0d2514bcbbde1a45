package stepwell

// What comes from outside is held against the types of the code that takes it, also where that code is in another process: workers publish their types as
// JSON Schemas.

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"sync"

	"github.com/stepwell/stepwell/internal/engine"
	"github.com/stepwell/stepwell/internal/schema"
	"github.com/stepwell/stepwell/world"
)

// Accepted declares a payload that a workflow takes while it runs: an [EventDef], or the result of
// [HookPayload].
type Accepted interface{ accepted(t *accepted) }

// accepted are the types of it.
type accepted struct {
	events map[string]reflect.Type
	hooks  []reflect.Type
	faults []error
}

// Accepts declares which events, and which hook payloads, a workflow takes:
//
//	var Order = stepwell.Define("order", order, stepwell.Accepts(Approved, stepwell.HookPayload[Verdict]()))
//
// A send that does not fit its declared type is refused with [ErrUnfit] and the place of the fault.
// The sender does not need the workflow's code. Undeclared events are not checked when they are
// sent, nor are hook payloads if no HookPayload is declared. The run sets aside those that do not
// fit: see [PayloadErrors].
func Accepts(what ...Accepted) WorkflowOption { return acceptsOption(what) }

type acceptsOption []Accepted

func (all acceptsOption) workflowOption(o *workflowOptions) {
	if o.accepts.events == nil {
		o.accepts.events = map[string]reflect.Type{}
	}
	for i, one := range all {
		if e, ok := one.(interface{ missing() bool }); one == nil || ok && e.missing() {
			o.faults = append(o.faults, fmt.Errorf("%w: argument %d of Accepts is nil", ErrInvalid, i+1))
			continue
		}
		one.accepted(&o.accepts)
	}
	o.faults = append(o.faults, o.accepts.faults...)
	o.accepts.faults = nil
}

func (e *EventDef[T]) missing() bool { return e == nil }

func (e *EventDef[T]) accepted(t *accepted) {
	typ := reflect.TypeFor[T]()
	switch before := t.events[e.name]; {
	case before != nil && before != typ:
		t.faults = append(t.faults, fmt.Errorf("%w: event %q is declared both as %s and as %s", ErrInvalid, e.name, before, typ))
	case world.CheckName("event", e.name) != nil:
		t.faults = append(t.faults, world.CheckName("event", e.name))
	}
	t.events[e.name] = typ
}

type hookPayload[T any] struct{}

// HookPayload declares a type of hook payload, for [Accepts]. If hooks of a workflow take several
// types, declare all: a payload must fit one of them.
func HookPayload[T any]() Accepted { return hookPayload[T]{} }

func (hookPayload[T]) accepted(t *accepted) { t.hooks = append(t.hooks, reflect.TypeFor[T]()) }

// describe makes the schemas of a workflow; each type's is made once in a process.
func describe(in, out reflect.Type, accepts *accepted) json.RawMessage {
	set := schema.Set{Input: schema.Of(in), Output: schema.Made(out), Events: map[string]*schema.Schema{}}
	for name, t := range accepts.events {
		if s := schema.Of(t); s != nil {
			set.Events[name] = s
		}
	}
	for _, t := range accepts.hooks {
		s := schema.Of(t)
		if s == nil { // whatever it is may fit
			set.Hooks = nil
			break
		}
		set.Hooks = append(set.Hooks, s)
	}
	return set.JSON()
}

// Schemas returns the schemas of a version of a workflow that a live worker has published. Version
// 0 is the highest that a live worker has. The result is empty if no live worker has published any.
func (a *App) Schemas(ctx context.Context, workflow string, version int) (world.Schemas, error) {
	out := world.Schemas{Workflow: workflow}
	if err := cmp.Or(world.CheckWorkflowName(workflow), world.CheckVersion(version)); err != nil {
		return out, fmt.Errorf("schemas: %w", err)
	}
	text, version, err := published(ctx, a, workflow, version)
	if err != nil {
		return out, fmt.Errorf("schemas of %s: %w", workflow, err)
	}
	if out.Version = version; text != nil && json.Unmarshal(text, &out) != nil {
		out = world.Schemas{}
	}
	out.Workflow, out.Version = workflow, version
	return out, nil
}

// published are the schemas of a version, as they are kept, and which version that is; nil: no live worker has any.
func published(ctx context.Context, a *App, workflow string, version int) (json.RawMessage, int, error) {
	d, version, err := described(ctx, a, workflow, version)
	if err != nil || d == nil {
		return nil, version, err
	}
	is, err := a.sets.of(ctx, a.book, d)
	return is.text, version, err
}

// described is what a live worker's definition says, where it has schemas; version 0: there is no live worker.
func described(ctx context.Context, a *App, workflow string, version int) (*world.Definition, int, error) {
	if world.CheckWorkflowName(workflow) != nil {
		return nil, 0, nil // it is refused for that
	}
	known, err := a.book.Workflow(ctx, workflow)
	if err != nil {
		return nil, version, fmt.Errorf("definitions: %w", err)
	}
	version = cmp.Or(version, known.Live)
	if !slices.Contains(known.All, version) {
		return nil, 0, nil
	}
	d, ok := known.Version(version)
	if !ok || d.Print == "" {
		return nil, version, nil
	}
	return &d, version, nil
}

// mostSets is how many sets of schemas an App has in memory.
const mostSets = 1000

// sets are schemas that were read, by their prints.
type sets struct {
	mu    sync.Mutex
	known map[string]readSet
	whole chan struct{} // held by who has a value in memory that is kept apart, to check it
}

// readSet are schemas as they are kept, and as they are checked with. The zero value are none.
type readSet struct {
	text json.RawMessage
	set  *schema.Set
}

// of are the schemas of a definition, read once.
func (s *sets) of(ctx context.Context, book *engine.Book, d *world.Definition) (readSet, error) {
	s.mu.Lock()
	is, ok := s.known[d.Print]
	s.mu.Unlock()
	if ok {
		return is, nil
	}
	text, err := book.Schemas(ctx, d)
	if err != nil || text == nil {
		return is, err
	}
	if set, err := schema.ParseSet(text); err == nil { // else it is as if there were none
		is = readSet{text, set}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.known == nil || len(s.known) >= mostSets {
		s.known = map[string]readSet{}
	}
	s.known[d.Print] = is
	return is, nil
}

// setOf are the schemas of a version that a live worker has; nil: there are none.
func setOf(ctx context.Context, a *App, workflow string, version int) (*schema.Set, int, error) {
	d, version, err := described(ctx, a, workflow, version)
	if err != nil || d == nil {
		return nil, version, err
	}
	is, err := a.sets.of(ctx, a.book, d)
	return is.set, version, err
}

// inputFits refuses an input that a version of a workflow cannot take: by its type where the code is here, else by the schema of a live worker.
func inputFits(ctx context.Context, a *App, workflow string, version int, input []byte) error {
	if own := a.known[world.Class{Workflow: workflow, Version: version}]; own != nil {
		err := own.Check(input)
		if err == nil {
			return nil
		}
		unfit := &world.UnfitError{Workflow: workflow, Version: own.Version, Err: err}
		if set, bad := schema.ParseSet(own.Schemas()); bad == nil {
			unfit.Places = set.Input.Check(input)
		}
		return unfit
	}
	set, version, err := setOf(ctx, a, workflow, version)
	if err != nil || set == nil {
		return err
	}
	return unfit(workflow, version, set.Input.Check(input))
}

// payloadFits refuses a payload that a run's workflow does not take, as far as a live worker tells. A run that is not there, or is over, is somebody else's to tell of.
func payloadFits(ctx context.Context, a *App, run string, payload []byte, check func(*schema.Set, []byte) []world.Misfit) error {
	row, err := a.world.Run(ctx, run)
	if err != nil || row.Status.Terminal() {
		return nil
	}
	set, version, err := setOf(ctx, a, row.Workflow, row.Version)
	if err != nil || set == nil {
		return err
	}
	return unfit(row.Workflow, version, check(set, payload))
}

// eventFits and hookFits find where a payload does not fit.
func eventFits(name string) func(*schema.Set, []byte) []world.Misfit {
	return func(set *schema.Set, payload []byte) []world.Misfit { return set.Events[name].Check(payload) }
}

func hookFits(set *schema.Set, payload []byte) []world.Misfit {
	return schema.CheckAny(set.Hooks, payload)
}

func unfit(workflow string, version int, places []world.Misfit) error {
	if len(places) == 0 {
		return nil
	}
	return &world.UnfitError{Workflow: workflow, Version: version, Places: places}
}
