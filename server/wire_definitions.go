package server

// This file keeps what code declares, and what processes have counted, for remote workers and clients.

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/stepwell/stepwell/internal/metrics"
	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/remote/wire"
)

func (d *doors) define(r *request, in *wire.DefineIn) (wire.Nothing, error) {
	for i := range in.Definitions {
		if err := d.guard.mayActFor(r, in.Definitions[i].By); err != nil {
			return done(err)
		}
	}
	if err := d.maySay(r, in.Definitions, nil); err != nil {
		return done(err)
	}
	return lasting(r.Context(), func(ctx context.Context) (wire.Nothing, error) {
		return done(d.below.Define(ctx, in.Definitions))
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

func wireSchemas(of world.World, ctx context.Context, in wire.SchemasIn) (out wire.SchemasOut, err error) {
	if out.Schemas, err = of.Schemas(ctx, in.Class); !json.Valid(out.Schemas) {
		out.Schemas = nil // damaged, or none
	}
	return out, err
}

// limitRetention is for everybody who asks, for workers who lower it, as they do when they join, and for admins who raise it. A worker whose key is limited does not
// lower it for others: it is only told.
func (d *doors) limitRetention(r *request, in *wire.RetentionIn) (out wire.RetentionOut, err error) {
	if needs := limitNeeds(in); !r.sees(needs) {
		return out, fmt.Errorf("%w: that takes a key with the scope %s", errScope, needs)
	}
	if r.limited() != nil {
		in.Retention = 0
	}
	return lasting(r.Context(), func(ctx context.Context) (out wire.RetentionOut, err error) {
		out.Before, out.Now, err = d.below.LimitRetention(ctx, in.Retention, in.Raise)
		return out, err
	})
}

func limitNeeds(in *wire.RetentionIn) Scope {
	switch {
	case in.Retention == 0:
		return Viewer
	case in.Raise:
		return Admin
	}
	return Worker
}

// keepMetrics leaves out what a key that is limited may not have.
func (d *doors) keepMetrics(r *request, m *world.ProcessMetrics) (wire.Nothing, error) {
	if r.limited() != nil {
		if len(m.Absorbs) > 0 {
			return done(fmt.Errorf("%w: a key that is limited to workflows does not absorb what others have counted", errScope))
		}
		var counts metrics.Counts
		if err := json.Unmarshal(m.Says, &counts); err != nil {
			return done(fmt.Errorf("%w: the metrics of process %s: %w", world.ErrInvalid, m.Process, err))
		}
		for of := range counts {
			if r.mayWorkflow(of.Workflow) != nil {
				delete(counts, of)
			}
		}
		says, err := json.Marshal(counts)
		if err != nil {
			return done(err)
		}
		m.Says = says
	}
	return lasting(r.Context(), func(ctx context.Context) (wire.Nothing, error) { return done(d.below.KeepMetrics(ctx, m)) })
}

// metrics is for who absorbs what others have counted: a key that is limited hears of none.
func (d *doors) metrics(r *request, _ *wire.Nothing) ([]world.ProcessMetrics, error) {
	if r.limited() != nil {
		return nil, nil
	}
	return d.below.Metrics(r.Context())
}
