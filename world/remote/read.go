package remote

// This file reads what operators and clients read, and sweeps.

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
	var out wire.OneRun
	if err := w.ask(ctx, manner{twice: true}, "run", &wire.RunID{Run: id}, &out); err != nil {
		return world.Run{}, err
	}
	return out.World(), nil
}

// Runs lists runs, newest first; see [world.Admin]. A page may be shorter than its limit if
// payloads are large.
func (w *World) Runs(ctx context.Context, q world.RunQuery) (world.RunPage, error) {
	if err := q.Check(); err != nil {
		return world.RunPage{}, err
	}
	in := wire.OfRunQuery(&q)
	var out wire.RunPage
	if err := w.ask(ctx, manner{twice: true, long: true}, "runs", &in, &out); err != nil {
		return world.RunPage{}, err
	}
	return world.RunPage{Runs: wire.WorldRuns(out.Runs), Cursor: out.Cursor, Reached: out.Reached}, nil
}

// Hooks lists active hooks, oldest first; see [world.Admin].
func (w *World) Hooks(ctx context.Context, q world.HookQuery) ([]world.HookRow, error) {
	in := wire.HookQuery(q)
	var out wire.Hooks
	err := w.ask(ctx, manner{twice: true}, "hooks", &in, &out)
	return wire.WorldHooks(out.Hooks), err
}

// Tasks lists the tasks of a run; see [world.Admin].
func (w *World) Tasks(ctx context.Context, run string) ([]world.Task, error) {
	var out wire.Tasks
	err := w.ask(ctx, manner{twice: true}, "tasks", &wire.RunID{Run: run}, &out)
	return wire.WorldTasks(out.Tasks), err
}

// Ready lists what could be claimed; see [world.Admin].
func (w *World) Ready(ctx context.Context, q world.ReadyQuery) (world.Ready, error) {
	in := wire.ReadyQuery(q)
	var out wire.Ready
	if err := w.ask(ctx, manner{twice: true}, "ready", &in, &out); err != nil {
		return world.Ready{}, err
	}
	return out.World(), nil
}

// Stats returns counts and workers; see [world.Admin]. The counters are those of the server's
// store.
func (w *World) Stats(ctx context.Context) (world.Stats, error) {
	var out wire.Stats
	if err := w.ask(ctx, manner{twice: true, long: true}, "stats", struct{}{}, &out); err != nil {
		return world.Stats{}, err
	}
	return out.World(), nil
}

// mostSwept is what a server sweeps at once.
const mostSwept = 1000

// Sweep deletes runs whose retention is over, oldest end first; see [world.Admin].
func (w *World) Sweep(ctx context.Context, limit int) (int, error) {
	n := 0
	for limit > 0 {
		var out wire.Swept
		batch := min(limit, mostSwept)
		if err := w.ask(ctx, manner{once: true}, "sweep", &wire.SweepQuery{Limit: batch}, &out); err != nil {
			return n, err
		}
		if n, limit = n+out.Runs, limit-out.Runs; out.Runs < batch {
			break
		}
	}
	return n, nil
}

// Examine runs all checks on the server's database; see [world.Doctor]. It reports all findings at
// the end, and says so if the database cannot be examined.
func (w *World) Examine(ctx context.Context, begin func(check string), tell func(world.Finding)) error {
	begin("the server's database")
	var out wire.Findings
	err := w.ask(ctx, manner{twice: true, long: true}, "doctor", struct{}{}, &out)
	if errors.Is(err, world.ErrNotFound) {
		tell(world.Finding{
			Check: "database", Health: world.HealthWarning, Found: "the server's database cannot be examined", Advice: "nothing, if it is meant to be in memory",
		})
		return nil
	}
	for _, f := range out.Findings {
		tell(f)
	}
	return err
}

// BindKey binds the ID of an encryption key; see [world.KeyBook]. With an older server it returns
// [world.ErrInvalid].
func (w *World) BindKey(ctx context.Context, id string, print []byte) ([]byte, error) {
	var out wire.KeyPrint
	err := w.ask(ctx, manner{twice: true}, "key", &wire.KeyQuery{ID: id, Print: print}, &out)
	return out.Print, err
}

// Define records definitions; see [world.Definer]. With an older server this and the other methods
// of Definer return [world.ErrInvalid].
func (w *World) Define(ctx context.Context, all []world.Definition) error {
	var out wire.Accepted
	return w.ask(ctx, manner{twice: true}, "define", &wire.Definitions{Definitions: all}, &out)
}

// Defined returns recorded definitions; see [world.Definer].
func (w *World) Defined(ctx context.Context, workflows []string) (world.Defined, error) {
	var out wire.Defined
	err := w.ask(ctx, manner{twice: true}, "defined", &wire.DefinedQuery{Workflows: workflows}, &out)
	return out.World(), err
}

// Schemas returns the schemas of a version; see [world.Definer].
func (w *World) Schemas(ctx context.Context, of world.Class) (json.RawMessage, error) {
	var out wire.Schemas
	err := w.ask(ctx, manner{twice: true}, "schemas", &wire.SchemasQuery{Class: of}, &out)
	return out.Schemas, err
}

// LimitRetention lowers or raises the longest retention; see [world.Definer].
func (w *World) LimitRetention(ctx context.Context, limit time.Duration, raise bool) (before, now time.Duration, err error) {
	var out wire.Limited
	err = w.ask(ctx, manner{twice: true}, "limit", &wire.Limit{Retention: limit, Raise: raise}, &out)
	return out.Before, out.Now, err
}

// KeepMetrics stores the counts of a process; see [world.MetricsKeeper]. With an older server it
// and Metrics return [world.ErrInvalid].
func (w *World) KeepMetrics(ctx context.Context, m *world.ProcessMetrics) error {
	var out wire.Accepted
	return w.ask(ctx, manner{twice: true}, "keepMetrics", (*wire.ProcessMetrics)(m), &out)
}

// Metrics returns the stored counts; see [world.MetricsKeeper].
func (w *World) Metrics(ctx context.Context) ([]world.ProcessMetrics, error) {
	var out wire.AllMetrics
	err := w.ask(ctx, manner{twice: true}, "metrics", struct{}{}, &out)
	return out.Processes, err
}
