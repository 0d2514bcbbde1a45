package postgres

// The tasks of a run as people see them.

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/layout"
	"github.com/stepwell/stepwell/world/rules"
)

var listRunTasks = load("list_run_tasks")

// Tasks lists the tasks of a run; see [world.Admin].
func (rd *reader) Tasks(ctx context.Context, run string) (out []world.Task, err error) {
	err = rd.read(ctx, listRunTasks, func(row pgx.Rows) error {
		t := world.Task{Run: run}
		var first *time.Time
		var history, worker *string
		var sum *int32
		if err := row.Scan(&t.Step, &t.Name, &t.Workflow, &t.Priority, &t.Visible, &t.Attempt, &t.Failures, &first, &history, &worker, &t.Abandoned, &t.Input, &t.Options, &sum); err != nil {
			return err
		}
		t.Visible, t.First, t.Worker = world.Within(t.Visible.UTC()), at(first), textOf(worker)
		layout.CheckTask(&t, sumOf(sum))
		t.Apart, t.Input, t.Options = world.TaskApart(world.PlainOptions(t.Options)), nil, nil
		t.Unreadable(unmarshal("history", history, &t.History))
		out = append(out, t)
		return nil
	}, run, rules.MostListed)
	return out, err
}
