package sqlite

// Active hooks: looked up by token, listed by run.

import (
	"encoding/json"

	"github.com/stepwell/stepwell/world"
)

var (
	hookByToken     = load("hook_by_token")
	insertHook      = load("insert_hook")
	deleteHook      = load("delete_hook")
	keepHooks       = load("keep_hooks")
	deleteRunTasks  = load("delete_run_tasks")
	deleteWaiter    = load("delete_waiter")
	deleteOldAwaits = load("delete_old_awaits")
)

type hook struct {
	run   int64
	id    string
	runID string
}

func (g *group) hook(token string) (h hook, found bool, err error) {
	found, err = g.tx.one(hookByToken, func(r row) error { h = hook{run: r.int(0), id: r.text(1), runID: r.text(2)}; return nil }, token)
	return h, found, err
}

// continued begins a new segment: open steps are over, and so are their tasks and all hooks that are not carried over.
func (g *group) continued(r *run, e *world.Event) error {
	ids, err := json.Marshal(append([]string{}, e.Next.Hooks...))
	if err != nil {
		return err
	}
	if r.hooks {
		if err := g.tx.exec(keepHooks, r.key, string(ids)); err != nil {
			return err
		}
	}
	if r.tasks {
		if err := g.tx.exec(deleteRunTasks, r.key); err != nil {
			return err
		}
	}
	if r.awaits {
		if err := g.tx.exec(deleteOldAwaits, r.key, r.id); err != nil {
			return err
		}
	}
	return g.replaceAttributes(r, e.Next.Attributes)
}
