package postgres

import (
	"testing"
	"time"

	"github.com/stepwell/stepwell/internal/pgtest"
	"github.com/stepwell/stepwell/world"
)

// A new segment that claims a token in the commit that begins it keeps the hook, beside those that it lists.
func TestClaimBehindContinuation(t *testing.T) {
	t.Parallel()
	for _, chosen := range []bool{false, true} { // in a group, or alone
		w := open(t)
		wk := join(t, w, 0, class1)
		must(t, w, eager("r", "w", wk.ID))
		hook := func(id string) world.Event {
			return world.Event{Type: world.HookCreated, ID: id, Name: "hook", Token: "token of " + id, Chosen: chosen, Time: world.Now()}
		}
		next := int64(3)
		commit := func(events ...world.Event) {
			t.Helper()
			must(t, w, &world.Commit{ID: commitID(), Run: "r", Worker: wk.ID, Claim: 1, First: next, Events: events})
			next += int64(len(events))
		}
		commit(hook("hook_kept"), hook("hook_over"), hook("hook_disposed"))
		commit(
			world.Event{Type: world.HookDisposed, ID: "hook_disposed", Time: world.Now()},
			world.Event{Type: world.RunContinued, Next: &world.Continuation{Hooks: []string{"hook_kept"}}, Time: world.Now()},
			hook("hook_new"),
		)
		hooks, err := w.Hooks(t.Context(), world.HookQuery{Run: "r"})
		var got []string
		for _, h := range hooks {
			got = append(got, h.ID)
		}
		if err != nil || len(got) != 2 || got[0] != "hook_kept" || got[1] != "hook_new" {
			t.Errorf("chosen %v: got hooks %v, %v, want hook_kept and hook_new", chosen, got, err)
		}
	}
}

// A run ID that two Worlds want at once is given once, and the other is told so, however the commits are written.
func TestSameIDAtOnce(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t)
	worlds := []*World{openAt(t, url), openAt(t, url)}
	for _, id := range []string{"chosen", world.NewID(world.PrefixRun, time.Now())} {
		errs := make(chan error, len(worlds))
		for _, w := range worlds {
			go func() {
				_, err := w.Commit(t.Context(), birthOf(id, "w"))
				errs <- err
			}()
		}
		a, b := <-errs, <-errs
		if a != nil {
			a, b = b, a
		}
		wantErr(t, a, nil)
		wantErr(t, b, world.ErrRunExists)
	}
}
