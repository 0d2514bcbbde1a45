package sqlite

// What starters have to know of workflows whose code they have not, and what operators set for all.

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"slices"
	"time"

	"github.com/stepwell/stepwell/world"
)

var (
	define        = load("define")
	definitionsOf = load("definitions_of")
	liveClasses   = load("live_classes")
	schemasOf     = load("schemas_of")
	readSetting   = load("setting")
	setSetting    = load("set_setting")
)

// retentionSetting is the most that ended runs are kept, in ns; below 0: for ever.
const retentionSetting = "retention"

// Define records definitions; see [world.Definer].
func (w *World) Define(ctx context.Context, all []world.Definition) error {
	differs := make(map[world.Class]world.Definition)
	for i := range all {
		if err := world.CheckDefinition(&all[i]); err != nil {
			return err
		}
		differs[all[i].Class] = all[i]
	}
	if err := w.read(ctx, func(c *conn) error {
		for i := range all {
			said, err := json.Marshal(all[i].Said)
			if err != nil {
				return err
			}
			if err := c.query(definitionsOf, func(r row) (bool, error) {
				if int(r.int(0)) == all[i].Version && r.text(1) == string(said) {
					delete(differs, all[i].Class)
				}
				return true, nil
			}, all[i].Workflow); err != nil {
				return err
			}
		}
		return nil
	}); err != nil || len(differs) == 0 {
		return err
	}
	return w.write(ctx, func(g *group) error { return g.queue.define(slices.Collect(maps.Values(differs)), nil, "") })
}

// define notes definitions, and what they say of limits, and what steps say.
func (qu *queue) define(all []world.Definition, steps []world.SaidLimit, by string) error {
	if err := qu.limits.may(append(world.LimitsOf(all), steps...)); err != nil {
		return err
	}
	if err := qu.tx.define(all, by); err != nil {
		return err
	}
	for i := range all {
		for _, l := range all[i].Limits {
			if err := qu.limits.say(l); err != nil {
				return err
			}
		}
	}
	for _, l := range steps {
		l.Steps = true
		if err := qu.limits.say(l); err != nil {
			return err
		}
	}
	return nil
}

func (t *txn) define(all []world.Definition, by string) error {
	for i := range all {
		said, err := json.Marshal(all[i].Said)
		if err != nil {
			return err
		}
		if err := t.exec(define, all[i].Workflow, int64(all[i].Version), string(said), string(all[i].Schemas), cmp.Or(by, all[i].By)); err != nil {
			return err
		}
	}
	return nil
}

// Defined returns recorded definitions; see [world.Definer].
func (w *World) Defined(ctx context.Context, workflows []string) (out world.Defined, err error) {
	var workers []world.WorkerRow
	err = w.read(ctx, func(c *conn) error {
		for _, name := range workflows {
			if err := c.query(definitionsOf, func(r row) (bool, error) {
				d := world.Definition{Class: world.Class{Workflow: name, Version: int(r.int(0))}, By: r.text(2)}
				if unmarshal(r.bytes(1), &d.Said) == nil { // one that is damaged says nothing
					out.Definitions = append(out.Definitions, d)
				}
				return true, nil
			}, name); err != nil {
				return err
			}
		}
		if err := c.query(liveClasses, func(r row) (bool, error) {
			wk := world.WorkerRow{Worker: world.Worker{ID: r.text(0)}, Until: r.time(2)}
			if unmarshal(r.bytes(1), &wk.Classes) == nil {
				workers = append(workers, wk)
			}
			return true, nil
		}); err != nil {
			return err
		}
		out.Retention, err = retentionOf(c)
		return err
	})
	if err != nil {
		return world.Defined{}, err
	}
	now := w.crew.showLeases(workers)
	alive := make(map[string]bool)
	for i := range workers {
		if alive[workers[i].ID] = workers[i].Until.After(now); alive[workers[i].ID] {
			out.Has(workers[i].Classes)
		}
	}
	out.Alive(func(id string) bool { return alive[id] })
	out.Of(workflows)
	return out, nil
}

// Schemas returns the schemas of a version; see [world.Definer].
func (w *World) Schemas(ctx context.Context, of world.Class) (out json.RawMessage, err error) {
	err = w.read(ctx, func(c *conn) error {
		_, err := c.one(schemasOf, func(r row) error { out = slices.Clone(r.bytes(0)); return nil }, of.Workflow, int64(of.Version))
		return err
	})
	if len(out) == 0 {
		out = nil
	}
	return out, err
}

// LimitRetention lowers or raises the longest retention; see [world.Definer].
func (w *World) LimitRetention(ctx context.Context, limit time.Duration, raise bool) (before, now time.Duration, err error) {
	err = w.read(ctx, func(c *conn) (err error) { before, err = retentionOf(c); return err })
	if err != nil || limited(before, limit, raise) == before {
		return before, before, err
	}
	now, err = ask(ctx, w, func(g *group) (time.Duration, error) { return g.tx.limitRetention(limit, raise) })
	return before, now, err
}

func (t *txn) limitRetention(limit time.Duration, raise bool) (time.Duration, error) {
	is, err := retentionOf(t.conn())
	if now := limited(is, limit, raise); err == nil && now != is {
		return now, t.exec(setSetting, retentionSetting, int64(now))
	}
	return is, err
}

// limited is what a limit becomes.
func limited(before, limit time.Duration, raise bool) time.Duration {
	if raise && limit != 0 {
		return max(limit, -1)
	}
	return world.LowerRetention(before, limit)
}

func retentionOf(c *conn) (limit time.Duration, err error) {
	_, err = c.one(readSetting, func(r row) error { limit = time.Duration(r.int(0)); return nil }, retentionSetting)
	return limit, err
}
