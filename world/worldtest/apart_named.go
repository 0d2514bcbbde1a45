// Values that payloads name, beside those that they refer to.

package worldtest

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/stepwell/stepwell/world"
)

// naming is an event whose payload names values.
func naming(e world.Event, values ...string) world.Event {
	type ref struct {
		Of world.Apart `json:"stepwell:blob"`
	}
	var refs []ref
	for _, id := range values {
		refs = append(refs, ref{world.Apart{ID: id, Size: 6, SHA256: strings.Repeat("0", 64)}})
	}
	e.Payload, _ = json.Marshal(refs)
	e.Apart = world.JoinApart("", values)
	return e
}

var apartsNamed = []check{
	{"a payload names values", "an event that names values is kept as it is, in the log and in the run's row; what the run does not hold is no error, and it does not hold it then; what is no ID, more than there may be, or named by a type that has none, is refused: ErrInvalid", func(r *rig) {
		k := r.worker("greet")
		s, other := k.create("greet"), k.create("greet")
		one, two, both := r.keep(s.run, "one"), r.keep(s.run, "two"), r.keep(s.run, "both")
		secret := r.keep(other.run, "secret")
		step := stepCreated("step_1", world.KindClosure)
		whole := refer(stepCreated("step_2", world.KindClosure), both)
		whole.Apart = world.JoinApart(both, []string{two})
		s.append(naming(step, one, two, secret), whole)
		var apart []string
		for _, e := range r.events(s.run) {
			if e.Apart != "" {
				apart = append(apart, e.Apart)
			}
		}
		r.same(apart, []string{"+" + one + "+" + two + "+" + secret, both + "+" + two}, "values of the events")
		r.same(r.kept(s.run, secret), []string(nil), "pieces of another's value")
		for _, id := range []string{one, two, both} {
			r.must(r.w.Values().DropValue(r.ctx, s.run, id), "drop what is named")
			r.same(len(r.kept(s.run, id)), 1, "pieces of what is named")
		}
		refuse := func(what string, e world.Event) {
			r.Helper()
			_, err := r.w.Commit(r.ctx, s.next(e))
			r.refused(err, world.ErrInvalid, what)
		}
		refuse("a signal", naming(signalEvent("a"), one))
		bad := naming(stepCreated("step_3", world.KindClosure), one)
		bad.Apart = "+" + one + "+x"
		refuse("what is no ID", bad)
		bad.Apart += "+"
		refuse("nothing", bad)
		bad.Apart = strings.Repeat("+"+one, world.MaxNamed+1)
		refuse("too many", bad)
		bad = refer(stepCreated("step_3", world.KindClosure), secret)
		bad.Apart = world.JoinApart(secret, []string{one})
		refuse("another's value beside one's own", bad)
		s.append(naming(world.Event{Type: world.RunCompleted}, two))
		r.same(r.run(s.run).OutputApart, "+"+two, "values of the row")
	}},
	{"what is named is held by whom it comes to", "a child of what its parent's commit names, a fork, and who is told of a result, before the end or after: they hold what the one that names it does, and nothing else, and that stays for them", func(r *rig) {
		k := r.worker("greet", "child")
		stranger := k.create("greet")
		secret := r.keep(stranger.run, "secret")
		s, after := k.create("greet"), k.create("greet")
		id, own := r.keep(s.run, "one", "two"), r.keep(s.run, "own")
		c := s.childCommit("step_1", withRetention(300*time.Millisecond))
		c.Births[0].Events[0] = naming(c.Births[0].Events[0], id, secret)
		s.write(c)
		child, _ := k.get(c.Births[0].Run)
		r.same(r.kept(child.run, id), []string{"one", "two"}, "pieces for the child")
		made := r.keep(child.run, "made")
		child.append(naming(world.Event{Type: world.RunCompleted}, id, made, secret, own))
		written := after.await("step_1", child.run)
		r.same(written[len(written)-1].Apart, "+"+id+"+"+made+"+"+secret+"+"+own, "values of the result that was there")
		fork := birth("greet", withOrigin(child.run, 1))
		fork.Events[0] = naming(fork.Events[0], made, secret)
		r.commit(fork)
		alien := birth("greet")
		alien.Events[0] = naming(alien.Events[0], made, secret)
		alien.Events[0].Birth.Parent = &world.Parent{Run: s.run, Detached: true}
		r.commit(alien)
		r.sweptAll(1)
		r.same(r.kept(child.run, made), []string(nil), "pieces for the child")
		result := s.result("step_1")
		r.same(r.kept(s.run, made), []string{"made"}, "pieces for the parent, who was told")
		s.append(result)
		for who, run := range map[string]string{"the parent": s.run, "who waited later": after.run, "the fork": fork.Run} {
			r.same(r.kept(run, made), []string{"made"}, "pieces for "+who)
			r.same(r.kept(run, secret), []string(nil), "pieces of what none of them holds, for "+who)
		}
		r.same(r.kept(after.run, id), []string{"one", "two"}, "pieces for who waited later")
		r.same(r.kept(after.run, own), []string(nil), "pieces of the parent's own, for who waited later")
		r.same(r.kept(alien.Run, made), []string(nil), "pieces for who says that it is a child")
		next, _ := k.get(fork.Run)
		next.end()
	}},
	{"a task ends with what it names", "the result of a task names values of its run, which are held from then on; others are left out", func(r *rig) {
		k := r.worker("greet")
		s, stranger := k.create("greet"), k.create("greet")
		s.queueTask("step_1")
		other := r.worker()
		other.steps = []string{"task"}
		t := other.getTask()
		secret, mine := r.keep(stranger.run, "secret"), r.keep(s.run, "mine")
		d := other.taskEnd(t, nil)
		last := &d.Events[len(d.Events)-1]
		*last = naming(*last, mine, secret)
		r.deliver(d)
		mail := s.mail()
		if len(mail) != 1 {
			r.Fatalf("mail %+v", mail)
		}
		r.same(mail[0].Events[len(mail[0].Events)-1].Apart, "+"+mine+"+"+secret, "values of the result")
		r.same(r.kept(s.run, mine), []string{"mine"}, "pieces")
		r.same(r.kept(s.run, secret), []string(nil), "pieces of another's")
	}},
}
