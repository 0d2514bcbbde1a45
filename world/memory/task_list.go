// The tasks of a run, for people.

package memory

import (
	"cmp"
	"context"
	"slices"

	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/rules"
)

// Tasks lists the tasks of a run; see [world.Admin].
func (w *World) Tasks(ctx context.Context, run string) ([]world.Task, error) {
	if err := w.enter(ctx); err != nil {
		return nil, err
	}
	defer w.mu.Unlock()
	r := w.runs[run]
	if r == nil {
		return nil, nil
	}
	var tasks []*task
	for _, t := range r.tasks {
		tasks = append(tasks, t)
	}
	slices.SortFunc(tasks, func(a, b *task) int { return cmp.Compare(a.entry.order, b.entry.order) })
	var out []world.Task
	for _, t := range tasks[:min(len(tasks), rules.MostListed)] {
		shown := t.Task
		shown.Apart, shown.Input, shown.Options, shown.History = world.TaskApart(world.PlainOptions(t.Options)), nil, nil, slices.Clone(t.History)
		out = append(out, shown)
	}
	return out, nil
}
