package sqlite

// Active hooks: looked up by token, listed by run.

import (
	"encoding/json"
	"fmt"
	"slices"

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
	found, err = g.c.one(hookByToken, func(r row) error { h = hook{run: r.int(0), id: r.text(1), runID: r.text(2)}; return nil }, token)
	return h, found, err
}

// decideTokens gives each new hook its token, or puts the conflict in its place. A token that the commit itself gives up is free for
// its later events.
func (g *group) decideTokens(c *world.Commit, r *run, p *plan) error {
	var taken map[string]string // tokens that the commit takes, with the hook's ID
	copied := false
	for i := range c.Events {
		e := &c.Events[i]
		if e.Type != world.HookCreated {
			continue
		}
		freed := func(id string) bool { return world.Frees(c.Events[:i], id) }
		holder := ""
		if id, ok := taken[e.Token]; ok && !freed(id) {
			holder = c.Run
		} else if h, found, err := g.hook(e.Token); err != nil {
			return err
		} else if found && !(r != nil && h.run == r.key && freed(h.id)) {
			holder = h.runID
		}
		if holder == "" {
			if taken == nil {
				taken = make(map[string]string)
			}
			taken[e.Token] = e.ID
			continue
		}
		if !slices.ContainsFunc(c.Conditions, func(cond world.Condition) bool { return cond.Event == i }) {
			return fmt.Errorf("run %s: hook %s: token is held by run %s: %w", c.Run, e.ID, holder, world.ErrConflict)
		}
		if !copied {
			p.events, copied = slices.Clone(p.events), true
		}
		p.changed = true
		p.events[i] = world.Event{
			Type: world.HookConflict, Time: e.Time, ID: e.ID, Name: e.Name, Path: e.Path, Occurrence: e.Occurrence, Token: e.Token, Peer: holder,
		}
	}
	return nil
}

// continued begins a new segment: open steps are over, and so are their tasks and all hooks that are not carried over.
func (g *group) continued(r *run, e *world.Event) error {
	ids, err := json.Marshal(append([]string{}, e.Next.Hooks...))
	if err != nil {
		return err
	}
	if r.hooks {
		if err := g.exec(keepHooks, r.key, string(ids)); err != nil {
			return err
		}
	}
	if r.tasks {
		if err := g.exec(deleteRunTasks, r.key); err != nil {
			return err
		}
	}
	if r.awaits {
		if err := g.exec(deleteOldAwaits, r.key, r.id); err != nil {
			return err
		}
	}
	return g.replaceAttributes(r, e.Next.Attributes)
}
