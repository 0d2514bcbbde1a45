package remote

// This file reads what operators and clients read, sweeps, and keeps what code declares.

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/remote/wire"
)

// Run reads one run; see [world.Admin].
func (w *World) Run(ctx context.Context, id string) (world.Run, error) {
	return call(ctx, w, wire.Run, wire.RunID{Run: id})
}

// Runs lists runs, newest first; see [world.Admin]. A page may be shorter than its limit if
// payloads are large.
func (w *World) Runs(ctx context.Context, q world.RunQuery) (world.RunPage, error) {
	if err := q.Check(); err != nil {
		return world.RunPage{}, err
	}
	return call(ctx, w, wire.Runs, q)
}

// Hooks lists active hooks, oldest first; see [world.Admin].
func (w *World) Hooks(ctx context.Context, q world.HookQuery) ([]world.HookRow, error) {
	return call(ctx, w, wire.Hooks, q)
}

// Tasks lists the tasks of a run; see [world.Admin].
func (w *World) Tasks(ctx context.Context, run string) ([]world.Task, error) {
	return call(ctx, w, wire.Tasks, wire.RunID{Run: run})
}

// Ready lists what could be claimed; see [world.Admin].
func (w *World) Ready(ctx context.Context, q world.ReadyQuery) (world.Ready, error) {
	return call(ctx, w, wire.Ready, q)
}

// Stats returns counts and workers; see [world.Admin]. The counters are those of the server's
// store.
func (w *World) Stats(ctx context.Context) (world.Stats, error) {
	return call(ctx, w, wire.Stats, wire.Nothing{})
}

// mostSwept is what a server sweeps at once.
const mostSwept = 1000

// Sweep deletes runs whose retention is over, oldest end first; see [world.Admin].
func (w *World) Sweep(ctx context.Context, limit int) (n int, err error) {
	for limit > 0 {
		batch := min(limit, mostSwept)
		swept, err := call(ctx, w, wire.Sweep, wire.SweepIn{Limit: batch})
		if err != nil {
			return n, err
		}
		if n, limit = n+swept, limit-swept; swept < batch {
			break
		}
	}
	return n, nil
}

// Examine runs all checks on the server's database; see [world.Doctor]. It reports all findings at
// the end, and says so if the database cannot be examined.
func (w *World) Examine(ctx context.Context, begin func(check string), tell func(world.Finding)) error {
	begin("the server's database")
	all, err := call(ctx, w, wire.Examine, wire.Nothing{})
	if errors.Is(err, world.ErrNotFound) {
		tell(world.Finding{
			Check: "database", Health: world.HealthWarning, Found: "the server's database cannot be examined", Advice: "nothing, if it is meant to be in memory",
		})
		return nil
	}
	for _, f := range all {
		tell(f)
	}
	return err
}

// BindKey binds the ID of an encryption key; see [world.KeyBook].
func (w *World) BindKey(ctx context.Context, id string, print []byte) ([]byte, error) {
	out, err := call(ctx, w, wire.BindKey, wire.KeyIn{ID: id, Print: print})
	return out.Print, err
}

// Define records definitions; see [world.Definer].
func (w *World) Define(ctx context.Context, all []world.Definition) error {
	return act(ctx, w, wire.Define, wire.DefineIn{Definitions: all})
}

// Defined returns recorded definitions; see [world.Definer].
func (w *World) Defined(ctx context.Context, workflows []string) (world.Defined, error) {
	return call(ctx, w, wire.Defined, wire.DefinedIn{Workflows: workflows})
}

// Schemas returns the schemas of a version; see [world.Definer].
func (w *World) Schemas(ctx context.Context, of world.Class) (json.RawMessage, error) {
	out, err := call(ctx, w, wire.Schemas, wire.SchemasIn{Class: of})
	return out.Schemas, err
}

// LimitRetention lowers or raises the longest retention; see [world.Definer].
func (w *World) LimitRetention(ctx context.Context, limit time.Duration, raise bool) (before, now time.Duration, err error) {
	out, err := call(ctx, w, wire.LimitRetention, wire.RetentionIn{Retention: limit, Raise: raise})
	return out.Before, out.Now, err
}

// KeepMetrics stores the counts of a process; see [world.MetricsKeeper].
func (w *World) KeepMetrics(ctx context.Context, m *world.ProcessMetrics) error {
	return act(ctx, w, wire.KeepMetrics, *m)
}

// Metrics returns the stored counts; see [world.MetricsKeeper].
func (w *World) Metrics(ctx context.Context) ([]world.ProcessMetrics, error) {
	return call(ctx, w, wire.Metrics, wire.Nothing{})
}
