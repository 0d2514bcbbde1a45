package server

// This file has the doors to what starters have to know of workflows.

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/remote/wire"
)

func wireDefinitionRoutes() []route {
	return []route{
		actRoute("define", Worker, "Note what the definitions of workflows say", "WireDefinitions", "WireAccepted", wireDefine),
		wireRoute("defined", Viewer, "Tell what definitions of workflows say, and which versions live workers have", "WireDefinedQuery", "WireDefined", wireDefined),
		wireRoute("schemas", Viewer, "Tell what JSON a version of a workflow takes and makes", "WireSchemasQuery", "WireSchemas", wireSchemasOf),
		actRoute("limit", Viewer, "Tell how long ended runs are kept at most, lower it, or raise it", "WireLimit", "WireLimited", wireLimit),
	}
}

func definerOf(d *doors) (world.Definer, error) {
	return d.below, nil
}

func wireDefine(d *doors, r *request, in *wire.Definitions) (wire.Accepted, error) {
	definer, err := definerOf(d)
	if err != nil {
		return wire.Accepted{}, err
	}
	for i := range in.Definitions {
		if err := d.guard.mayActFor(r, in.Definitions[i].By); err != nil {
			return wire.Accepted{}, err
		}
	}
	if err := d.maySay(r, in.Definitions, nil); err != nil {
		return wire.Accepted{}, err
	}
	return lasting(r.Context(), func(ctx context.Context) (wire.Accepted, error) {
		return wire.Accepted{Accepted: true}, definer.Define(ctx, in.Definitions)
	})
}

// maySay refuses definitions of what the key may not have, and, of a limited key, limits that stand as others say them.
func (d *doors) maySay(r *request, definitions []world.Definition, steps []world.SaidLimit) error {
	classes := make([]world.Class, len(definitions))
	for i := range definitions {
		classes[i] = definitions[i].Class
	}
	if err := r.mayHave(classes, nil); err != nil || r.limited() == nil {
		return err
	}
	said := append(world.LimitsOf(definitions), steps...)
	if len(said) == 0 {
		return nil
	}
	theirs, err := d.limitsOfOthers(r)
	for i := range said {
		if l := &said[i]; err == nil && theirs[l.Name] != "" && theirs[l.Name] != l.Text() {
			err = fmt.Errorf("%w: it is limited, and limit %s is that of other workflows, which say %s: say the same, or give it another name", errScope, l.Name, theirs[l.Name])
		}
	}
	return err
}

// limitsOfOthers are the limits that workflows say which the key is not for, and that steps and queues are under, with
// how many they let in as they stand.
func (d *doors) limitsOfOthers(r *request) (map[string]string, error) {
	all, err := d.below.Limits().ListLimits(r.Context())
	if err != nil {
		return nil, err
	}
	theirs, err := d.othersSay(r)
	out := map[string]string{}
	for i := range all {
		if l := &all[i]; l.Steps || l.Messages || theirs[l.Name] {
			out[l.Name] = (&world.SaidLimit{Name: l.Name, Number: l.Said, Per: l.Per, Burst: l.Burst, Weights: l.Weights}).Text()
		}
	}
	return out, err
}

// othersSay are the limits in the definitions of workflows that the key is not for: those that have runs, or workers.
func (d *doors) othersSay(r *request) (map[string]bool, error) {
	stats, err := d.below.Stats(r.Context())
	if err != nil {
		return nil, err
	}
	others := map[string]bool{}
	for i := range stats.Workflows {
		others[stats.Workflows[i].Workflow] = true
	}
	for i := range stats.Workers {
		for _, c := range stats.Workers[i].Classes {
			others[c.Workflow] = true
		}
	}
	maps.DeleteFunc(others, func(name string, _ bool) bool { return r.mayWorkflow(name) == nil })
	known, err := d.below.Defined(r.Context(), slices.Sorted(maps.Keys(others)))
	out := map[string]bool{}
	for _, l := range world.LimitsOf(known.Definitions) {
		out[l.Name] = true
	}
	return out, err
}

func wireDefined(d *doors, r *request, in *wire.DefinedQuery) (wire.Defined, error) {
	definer, err := definerOf(d)
	if err != nil {
		return wire.Defined{}, err
	}
	for _, name := range in.Workflows {
		if err := r.mayWorkflow(name); err != nil {
			return wire.Defined{}, err
		}
	}
	known, err := definer.Defined(r.Context(), in.Workflows)
	return wire.OfDefined(&known), err
}

func wireSchemasOf(d *doors, r *request, in *wire.SchemasQuery) (out wire.Schemas, err error) {
	definer, err := definerOf(d)
	if err != nil {
		return out, err
	}
	if err := r.mayWorkflow(in.Workflow); err != nil {
		return out, err
	}
	if out.Schemas, err = definer.Schemas(r.Context(), in.Class); !json.Valid(out.Schemas) {
		out.Schemas = nil // damaged, or none
	}
	return out, err
}

// wireLimit is for everybody who asks, for workers who lower it, as they do when they join, and for admins who raise it. A worker whose key is limited does not
// lower it for others: it is only told.
func wireLimit(d *doors, r *request, in *wire.Limit) (wire.Limited, error) {
	definer, err := definerOf(d)
	if err != nil {
		return wire.Limited{}, err
	}
	if needs := limitNeeds(in); !r.sees(needs) {
		return wire.Limited{}, fmt.Errorf("%w: that takes a key with the scope %s", errScope, needs)
	}
	if r.limited() != nil {
		in.Retention = 0
	}
	return lasting(r.Context(), func(ctx context.Context) (out wire.Limited, err error) {
		out.Before, out.Now, err = definer.LimitRetention(ctx, in.Retention, in.Raise)
		return out, err
	})
}

func limitNeeds(in *wire.Limit) Scope {
	switch {
	case in.Retention == 0:
		return Viewer
	case in.Raise:
		return Admin
	}
	return Worker
}
