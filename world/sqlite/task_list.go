package sqlite

// This file shows the tasks of a run to people.

import (
	"context"

	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/layout"
	"github.com/stepwell/stepwell/world/rules"
)

var listRunTasks = load("list_run_tasks")

// Tasks lists the tasks of a run; see [world.Admin].
func (w *World) Tasks(ctx context.Context, run string) (out []world.Task, err error) {
	err = w.read(ctx, func(c *conn) error {
		return c.query(listRunTasks, func(r row) (bool, error) {
			t := world.Task{
				Run: run, Step: r.text(0), Name: r.text(1), Workflow: r.text(2), Priority: int(r.int(3)), Visible: r.time(4),
				Attempt: int(r.int(5)), Failures: int(r.int(6)), First: r.time(7), Worker: r.text(9),
				Abandoned: int(r.int(10)),
			}
			var err error
			t.History, err = readHistory(r.bytes(8))
			t.Unreadable(err)
			t.Input, t.Options = r.bytes(11), r.bytes(12)
			layout.CheckTask(&t, r.sum(13))
			t.Apart, t.Input, t.Options = world.TaskApart(world.PlainOptions(t.Options)), nil, nil
			out = append(out, t)
			return true, nil
		}, run, int64(rules.MostListed))
	})
	return out, err
}
