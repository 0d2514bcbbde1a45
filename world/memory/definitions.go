// What starters have to know of workflows whose code they have not, and what operators set for all.

package memory

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"slices"
	"time"

	"github.com/stepwell/stepwell/world"
)

// said is what definitions say, and operators.
type said struct {
	definitions map[world.Class]world.Definition
	retention   time.Duration // the most that ended runs are kept
	starts      starts
	gathers     gathers
}

// Define records definitions; see [world.Definer].
func (w *World) Define(ctx context.Context, all []world.Definition) error {
	for i := range all {
		if err := world.CheckDefinition(&all[i]); err != nil {
			return err
		}
	}
	if err := w.enter(ctx); err != nil {
		return err
	}
	if err := w.limits.may(world.LimitsOf(all)); err != nil {
		w.mu.Unlock()
		return err
	}
	var n notices
	w.said.define(all, "")
	w.limits.say(world.LimitsOf(all), &n)
	w.mu.Unlock()
	w.tell(&n)
	return nil
}

func (s *said) define(all []world.Definition, by string) {
	if s.definitions == nil {
		s.definitions = make(map[world.Class]world.Definition)
	}
	for _, d := range all {
		d.Schemas, d.Attributes, d.By = slices.Clone(d.Schemas), maps.Clone(d.Attributes), cmp.Or(by, d.By)
		if was := s.definitions[d.Class]; was.Said.Same(d.Said) {
			d.By = cmp.Or(d.By, was.By)
		}
		s.definitions[d.Class] = d
	}
}

// Defined returns recorded definitions; see [world.Definer].
func (w *World) Defined(ctx context.Context, workflows []string) (world.Defined, error) {
	if err := w.enter(ctx); err != nil {
		return world.Defined{}, err
	}
	defer w.mu.Unlock()
	out := world.Defined{Retention: w.said.retention}
	for _, d := range w.said.definitions {
		out.Definitions = append(out.Definitions, world.Definition{Class: d.Class, Said: d.Said, By: d.By})
	}
	now := w.now()
	for _, wk := range w.workers {
		if wk.until.After(now) {
			out.Has(wk.Classes)
		}
	}
	out.Alive(func(id string) bool { wk := w.workers[id]; return wk != nil && wk.until.After(now) })
	out.Of(workflows)
	return out, nil
}

// Schemas returns the schemas of a version; see [world.Definer].
func (w *World) Schemas(ctx context.Context, of world.Class) (json.RawMessage, error) {
	if err := w.enter(ctx); err != nil {
		return nil, err
	}
	defer w.mu.Unlock()
	return slices.Clone(w.said.definitions[of].Schemas), nil
}

// LimitRetention lowers or raises the longest retention; see [world.Definer].
func (w *World) LimitRetention(ctx context.Context, limit time.Duration, raise bool) (before, now time.Duration, err error) {
	if err := w.enter(ctx); err != nil {
		return 0, 0, err
	}
	defer w.mu.Unlock()
	before = w.said.retention
	switch {
	case limit != 0 && raise:
		w.said.retention = max(limit, -1)
	default:
		w.said.retention = world.LowerRetention(before, limit)
	}
	return before, w.said.retention, nil
}
