package engine

// This file tells of workflows and steps that are asked for and that no live worker has: such a run waits, and nobody would say so.

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/stepwell/stepwell/internal/logs"
	"github.com/stepwell/stepwell/world"
)

// wanted is a workflow's version, or a registered step, that somebody must have.
type wanted struct {
	class world.Class
	step  string // "": the workflow
}

// missing are those that this worker does not have and that were asked for here. Each is looked for once a minute.
type missing struct {
	mu     sync.Mutex
	asked  map[wanted]string    // and a run that needs it: to be looked for; guarded by mu
	looked map[wanted]time.Time // guarded by mu
}

const (
	lookPause  = time.Minute // between looks for the same
	mostWanted = 1000        // that are remembered
)

// want notes that a run needs something, and reports whether it is to be looked for.
func (m *missing) want(what wanted, run string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := time.Now()
	if at, ok := m.looked[what]; ok && now.Sub(at) < lookPause {
		return false
	}
	if m.asked == nil || len(m.looked) >= mostWanted {
		m.asked, m.looked = map[wanted]string{}, map[wanted]time.Time{}
	}
	m.asked[what], m.looked[what] = run, now
	return true
}

// empty is what is to be looked for.
func (m *missing) empty() map[wanted]string {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.asked) == 0 {
		return nil
	}
	asked := m.asked
	m.asked = map[wanted]string{}
	return asked
}

// wants notes that a run of this worker needs something.
func (t *teller) wants(ctx context.Context, what wanted, run string) {
	if !t.has(what) && t.Heard(ctx) {
		t.missing.want(what, run)
	}
}

// wantsNow looks at once for a worker that has the workflow of a run that was started here, unless this one does. A client has no other moment for it.
func (t *teller) wantsNow(ctx context.Context, what wanted, run string) {
	if !t.has(what) && !logs.IsServed(ctx) {
		t.lookFor(ctx, what, run)
	}
}

// lookFor looks at once for a worker that has what a run needs.
func (t *teller) lookFor(ctx context.Context, what wanted, run string) {
	if t.Heard(ctx) && t.missing.want(what, run) {
		t.look(ctx)
	}
}

// Unheard tells of a run that has waited for a while, and of which no live worker has the workflow.
func (e *Engine) Unheard(ctx context.Context, class world.Class, run string) {
	if !e.works.Load() {
		e.says.lookFor(ctx, wanted{class: class}, run)
	}
}

// look asks who has what was asked for, and tells what nobody has.
func (t *teller) look(ctx context.Context) {
	asked := t.missing.empty()
	if len(asked) == 0 {
		return
	}
	stats, err := t.world.Stats(ctx)
	if err != nil {
		return // others say so
	}
	live := slices.DeleteFunc(stats.Workers, func(w world.WorkerRow) bool { return !w.Until.After(stats.Now) })
	for what, run := range asked {
		if !slices.ContainsFunc(live, func(w world.WorkerRow) bool { return what.in(&w) }) {
			t.nobodyHas(what, run, live)
		}
	}
}

// in reports whether a worker has it.
func (what wanted) in(w *world.WorkerRow) bool {
	if what.step != "" {
		return slices.Contains(w.Steps, what.step)
	}
	return slices.Contains(w.Classes, what.class)
}

func (t *teller) nobodyHas(what wanted, run string, live []world.WorkerRow) {
	if what.step != "" {
		t.Warn("no live worker has a step that a run needs", slog.String("step.name", what.step), "run_id", run, "workers", len(live),
			"hint", "Start a worker with it in Config.Definitions, or, if it is remote, a step worker; the run waits, and nothing is lost. To see the workers: stepwell workers")
		return
	}
	args := []any{"run_id", run, "workers", len(live)}
	if what.class.Version > 0 {
		args = append(args, "workflow.version", what.class.Version)
	}
	if has := Versions(live, what.class.Workflow); len(has) > 0 {
		args = append(args, "versions", has)
	}
	t.Warn("no live worker has a workflow that was started", slog.String("workflow.name", what.class.Workflow), append(args,
		"hint", "Start a worker with it in Config.Definitions; the run waits, and nothing is lost. To see the workers: stepwell workers")...)
}

// Versions are those of a workflow that workers have, in order.
func Versions(workers []world.WorkerRow, workflow string) (has []int) {
	for _, w := range workers {
		for _, c := range w.Classes {
			if c.Workflow == workflow && c.Version > 0 && !slices.Contains(has, c.Version) {
				has = append(has, c.Version)
			}
		}
	}
	slices.Sort(has)
	return has
}
