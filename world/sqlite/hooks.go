package sqlite

import (
	"encoding/json"

	"github.com/stepwell/stepwell/world"
)

var (
	hookByToken      = load("hook_by_token")
	endedHookByToken = load("ended_hook_by_token")
	insertHook       = load("insert_hook")
	deleteHook       = load("delete_hook")
	keepHooks        = load("keep_hooks")
	deleteRunHooks   = load("delete_run_hooks")
)

// hooks are looked up by token, and listed by run.
//
//   - A token is that of one active hook at most. What had it before is known as over.
//   - run.hooks is false only where the run has none that is active.
type hooks struct{ tx *txn }

type hook struct {
	run   int64
	id    string
	runID string
}

// byToken finds the active hook that has a token.
func (hs *hooks) byToken(token string) (h hook, found bool, err error) {
	return hs.find(hookByToken, token)
}

// ended finds the last hook that had a token and is over.
func (hs *hooks) ended(token string) (h hook, found bool, err error) {
	return hs.find(endedHookByToken, token)
}

func (hs *hooks) find(s *statement, token string) (h hook, found bool, err error) {
	found, err = hs.tx.one(s, func(r row) error { h = hook{run: r.int(0), id: r.text(1), runID: r.text(2)}; return nil }, token)
	return h, found, err
}

// add makes a hook active.
func (hs *hooks) add(r *run, e *world.Event) error {
	r.hooks = true
	return hs.tx.exec(insertHook, e.Token, r.key, e.ID, blob(e.Payload), e.Time.UnixMicro())
}

// drop ends a hook.
func (hs *hooks) drop(r *run, id string) error { return hs.tx.exec(deleteHook, r.key, id) }

// keep ends all but some.
func (hs *hooks) keep(r *run, ids []string) error {
	if !r.hooks {
		return nil
	}
	text, err := json.Marshal(append([]string{}, ids...))
	if err != nil {
		return err
	}
	return hs.tx.exec(keepHooks, r.key, string(text))
}

// dropAll ends all.
func (hs *hooks) dropAll(r *run) error {
	if !r.hooks {
		return nil
	}
	return hs.tx.exec(deleteRunHooks, r.key)
}
