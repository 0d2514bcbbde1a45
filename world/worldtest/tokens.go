// Tokens: of all active hooks of a world, one has a token.

package worldtest

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/stepwell/stepwell/world"
)

// claim asks for a token under a condition and reports the event that was written.
func (s *session) claim(hook, token string) world.Event {
	s.Helper()
	c := s.next(hookCreated(hook, token))
	c.Conditions = []world.Condition{{Event: 0}}
	done := s.write(c)
	written := s.events(s.run)[s.seq-1]
	if changed := written.Type != world.HookCreated; changed != (done.Events != nil) {
		s.Fatalf("%s was written, and told was %+v", written.Type, done.Events)
	}
	return written
}

var tokens = []check{
	{"a token has one hook", "token taken: hook_conflict is written instead, naming the run that holds it", func(r *rig) {
		k := r.worker("greet")
		one, two := k.create("greet"), k.create("greet")
		r.same(one.claim("hook_1", "t1").Type, world.HookCreated, "first claim")
		c := two.next(signalEvent("before"), hookCreated("hook_1", "t1"), signalEvent("behind"))
		c.Events[1].Path, c.Events[1].Occurrence = "go[0]", 2
		c.Conditions = []world.Condition{{Event: 1}}
		done := two.write(c)
		want := world.Event{Seq: 4, Type: world.HookConflict, Time: c.Events[1].Time, ID: "hook_1", Name: "hook_1", Path: "go[0]", Occurrence: 2, Token: "t1", Peer: one.run}
		for what, events := range map[string][]world.Event{"as told": done.Events, "in the log": r.events(two.run)[2:]} {
			if len(events) != 3 {
				r.Fatalf("%s: %d events, want 3", what, len(events))
			}
			if diff := cmp.Diff(want, events[1], cmpopts.IgnoreFields(world.Event{}, "Commit", "Build")); diff != "" {
				r.Fatalf("%s (-want +got):\n%s", what, diff)
			}
			r.same([]string{events[0].Name, events[2].Name}, []string{"before", "behind"}, what)
		}
		r.same(c.Events[1].Type, world.HookCreated, "the sender's own event")
	}},
	{"a run's own token is taken too", "a token that the run holds itself is no other's", func(r *rig) {
		s := r.worker("greet").create("greet")
		s.claim("hook_1", "t1")
		if e := s.claim("hook_2", "t1"); e.Type != world.HookConflict || e.Peer != s.run {
			r.Fatalf("got %+v, want a conflict with the run itself", e)
		}
	}},
	{"a token is free when its hook is disposed", "hook_disposed: the token is free again, in the same commit already", func(r *rig) {
		k := r.worker("greet")
		one, two := k.create("greet"), k.create("greet")
		one.claim("hook_1", "t1")
		c := one.next(world.Event{Type: world.HookDisposed, ID: "hook_1"}, hookCreated("hook_2", "t1"), world.Event{Type: world.HookDisposed, ID: "hook_2"}, hookCreated("hook_3", "t1"))
		c.Conditions = []world.Condition{{Event: 1}, {Event: 3}}
		if done := one.write(c); done.Events != nil {
			r.Fatalf("got %+v, want all as sent", done.Events)
		}
		r.same(two.claim("hook_1", "t1").Type, world.HookConflict, "claim while it is held")
		one.append(world.Event{Type: world.HookDisposed, ID: "hook_3"})
		r.same(two.claim("hook_2", "t1").Type, world.HookCreated, "claim when it is free")
	}},
	{"a token is free when its run ends", "the end of a run disposes its hooks, however it ends", func(r *rig) {
		k := r.worker("greet")
		for i, end := range []func(s *session){
			func(s *session) { s.end() },
			func(s *session) { s.append(world.Event{Type: world.RunFailed, Error: &world.Error{Message: "no"}}) },
			func(s *session) { r.deliver(act(s.run, "", world.RunCancelled)) },
		} {
			s := k.create("greet")
			if e := s.claim("hook_1", "t1"); e.Type != world.HookCreated {
				r.Fatalf("round %d: got %+v, want the token", i, e)
			}
			end(s)
		}
	}},
	{"a continuation keeps the hooks that it lists", "hooks that run_continued does not list are over, and their tokens free", func(r *rig) {
		k := r.worker("greet")
		one, two := k.create("greet"), k.create("greet")
		one.claim("hook_1", "kept")
		one.claim("hook_2", "dropped")
		one.append(world.Event{Type: world.RunContinued, Payload: jsonText(`2`), Next: &world.Continuation{Hooks: []string{"hook_1"}}})
		r.same(two.claim("hook_1", "kept").Type, world.HookConflict, "claim of the kept token")
		r.same(two.claim("hook_2", "dropped").Type, world.HookCreated, "claim of the dropped token")
	}},
	{"a token without a condition is refused when it is taken", "what no condition names is refused: ErrConflict, and nothing written", func(r *rig) {
		k := r.worker("greet")
		one, two := k.create("greet"), k.create("greet")
		one.append(hookCreated("hook_1", "t1"))
		r.unchanged(two.run, func() {
			_, err := r.w.Commit(r.ctx, two.next(signalEvent("a"), hookCreated("hook_1", "t1")))
			r.refused(err, world.ErrConflict, "taken token")
		})
		two.append(hookCreated("hook_1", "t2"))
	}},
	{"of concurrent claims one gets the token", "tokens are unique among active hooks, whoever asks at the same time", func(r *rig) {
		k := r.worker("greet")
		const n = 12
		results := make([]world.Committed, n)
		sessions := make([]*session, n)
		commits := make([]*world.Commit, n)
		for i := range n {
			sessions[i] = k.create("greet")
			commits[i] = sessions[i].next(hookCreated("hook_1", "t1"))
			commits[i].Conditions = []world.Condition{{Event: 0}}
		}
		var wg sync.WaitGroup
		for i := range n {
			wg.Go(func() {
				var err error
				if results[i], err = r.w.Commit(r.ctx, commits[i]); err != nil {
					r.Errorf("claim %d: %v", i, err)
				}
			})
		}
		wg.Wait()
		hooks, err := r.w.Hooks(r.ctx, world.HookQuery{Token: "t1"})
		r.must(err, "hooks")
		r.same(len(hooks), 1, "active hooks")
		for i, s := range sessions {
			want := world.HookConflict
			if s.run == hooks[0].Run {
				want = world.HookCreated
			}
			got := r.events(s.run)[2]
			if got.Type != want || want == world.HookConflict && got.Peer != hooks[0].Run {
				r.Fatalf("claim %d: got %s with peer %q, want %s with run %s", i, got.Type, got.Peer, want, hooks[0].Run)
			}
		}
	}},
	{"a list of hooks is bounded in bytes", "it ends behind PageBytes of metadata, and has one hook at least", func(r *rig) {
		k := r.worker("greet")
		s := k.create("greet")
		for i := range 5 {
			e := hookCreated(fmt.Sprint("hook_", i), fmt.Sprint("t", i))
			e.Payload = json.RawMessage(`"` + strings.Repeat("x", 750_000) + `"`)
			s.append(e)
		}
		for limit, want := range map[int]int{0: 3, 1: 1, 1000: 3} {
			for _, run := range []string{"", s.run} {
				hooks, err := r.w.Hooks(r.ctx, world.HookQuery{Run: run, Limit: limit})
				r.must(err, "hooks")
				r.same(len(hooks), want, "hooks of large metadata")
			}
		}
	}},
	{"hooks are listed", "active hooks, of one run or with one token, with what was said of them", func(r *rig) {
		k := r.worker("greet")
		one, two := k.create("greet"), k.create("greet")
		c := one.next(hookCreated("hook_1", "t1"), hookCreated("hook_2", "t2"))
		one.write(c)
		two.append(hookCreated("hook_3", "t3"))
		list := func(q world.HookQuery) (ids string) {
			hooks, err := r.w.Hooks(r.ctx, q)
			r.must(err, "hooks")
			for _, h := range hooks {
				ids += fmt.Sprint(h.ID, " ")
			}
			return ids
		}
		r.same(list(world.HookQuery{Run: one.run}), "hook_1 hook_2 ", "hooks of one run")
		r.same(list(world.HookQuery{Token: "t3"}), "hook_3 ", "hooks with one token")
		r.same(list(world.HookQuery{Token: "t3", Run: one.run}), "", "hooks of another run with the token")
		r.same(len(list(world.HookQuery{})), len("hook_1 hook_2 hook_3 "), "all hooks")
		r.same(len(list(world.HookQuery{Limit: 2})), len("hook_1 hook_2 "), "two hooks")
		hooks, err := r.w.Hooks(r.ctx, world.HookQuery{Token: "t1"})
		r.must(err, "hooks")
		r.same(hooks, []world.HookRow{{ID: "hook_1", Run: one.run, Token: "t1", Metadata: jsonText(`{"meta":1}`), CreatedAt: c.Events[0].Time}}, "hook")
	}},
}
