package server

// This file has the doors to what starters have to know of workflows.

import (
	"context"
	"encoding/json"
	"fmt"

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
	if d.able.Definer == nil {
		return nil, fmt.Errorf("definitions of workflows in the server's database: %w", world.ErrNotFound)
	}
	return d.able.Definer, nil
}

func wireDefine(d *doors, r *request, in *wire.Definitions) (wire.Accepted, error) {
	definer, err := definerOf(d)
	if err != nil {
		return wire.Accepted{}, err
	}
	if err := r.maySay(in.Definitions); err != nil {
		return wire.Accepted{}, err
	}
	return lasting(r.Context(), func(ctx context.Context) (wire.Accepted, error) {
		return wire.Accepted{Accepted: true}, definer.Define(ctx, in.Definitions)
	})
}

// maySay refuses definitions of what the key may not have.
func (r *request) maySay(definitions []world.Definition) error {
	classes := make([]world.Class, len(definitions))
	for i := range definitions {
		classes[i] = definitions[i].Class
	}
	return r.mayHave(classes, nil)
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
