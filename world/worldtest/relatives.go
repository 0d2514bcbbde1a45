// Relatives: runs that wait for other runs.

package worldtest

import (
	"strconv"
	"sync"

	"github.com/stepwell/stepwell/world"
)

// childCommit creates a step of kind child and its run in one commit.
func (s *session) childCommit(step string, with ...func(*world.Birth)) *world.Commit {
	b := birth("child", append(with, func(b *world.Birth) { b.Parent = &world.Parent{Run: s.run, Step: step} })...)
	e := stepCreated(step, world.KindChild)
	e.Peer = b.Run
	c := s.next(e)
	c.Births = []*world.Commit{b}
	c.Conditions = []world.Condition{{Event: 0, Birth: 0}}
	return c
}

// await creates a step of kind await and returns what was written.
func (s *session) await(step, run string) []world.Event {
	s.Helper()
	e := stepCreated(step, world.KindAwait)
	e.Peer = run
	c := s.next(e)
	c.Conditions = []world.Condition{{Event: 0}}
	before := s.seq
	done := s.write(c)
	written := s.events(s.run)[before:]
	if (len(written) > 1 || written[0].Peer != run) != (done.Events != nil) {
		s.Fatalf("written was %+v, told %+v", written, done.Events)
	}
	return written
}

// sendCommit creates steps that send to runs.
func (s *session) sendCommit(runs ...string) *world.Commit {
	var steps []world.Event
	for i, run := range runs {
		e := stepCreated("step_"+strconv.Itoa(i), world.KindSend)
		e.Name, e.Peer, e.Payload = "paid", run, jsonText(`"x"`)
		steps = append(steps, e)
	}
	c := s.next(steps...)
	for i, run := range runs {
		c.Send = append(c.Send, *signal(run, "", "paid"))
		c.Send[i].Events[0].Payload = jsonText(`"x"`)
		c.Conditions = append(c.Conditions, world.Condition{Event: i, Send: i})
	}
	return c
}

// result waits for mail that ends a step of the session's run.
func (s *session) result(step string) world.Event {
	s.Helper()
	for _, m := range s.mail() {
		if e := m.Events[0]; e.ID == step {
			return e
		}
	}
	s.Fatalf("no mail for step %s of run %s", step, s.run)
	return world.Event{}
}

var relatives = []check{
	{"a child is created with its parent's commit", "child births and events are one commit; the child is queued", func(r *rig) {
		k := r.worker("greet", "child")
		s := k.create("greet")
		c := s.childCommit("step_1")
		late := *c
		late.First--
		late.ID = commitID()
		_, err := r.w.Commit(r.ctx, &late)
		r.refused(err, world.ErrLeaseLost, "a commit that is late")
		r.absent(c.Births[0].Run)
		if done := s.write(c); done.Events != nil {
			r.Fatalf("got %+v, want all as sent", done.Events)
		}
		r.same(r.run(c.Births[0].Run).Parent, &world.Parent{Run: s.run, Step: "step_1"}, "parent")
		k.get(c.Births[0].Run)
	}},
	{"what is sent to a child of the same commit arrives", "a run that a commit creates is there for what the commit sends", func(r *rig) {
		k := r.worker("greet", "child")
		s := k.create("greet")
		c := s.childCommit("step_1")
		child := c.Births[0].Run
		x := s.sendCommit(child)
		c.Events, c.Send, c.Conditions = append(c.Events, x.Events...), x.Send, []world.Condition{{Event: 1}}
		before := s.seq
		s.write(c)
		if written := s.events(s.run)[before:]; len(written) != 3 || written[2].Type != world.StepCompleted || written[2].ID != "step_0" {
			r.Fatalf("got %+v, want that it was sent", written)
		}
		created, _ := k.get(child)
		mail := created.mail()
		if len(mail) != 1 || mail[0].Events[0].Name != "paid" {
			r.Fatalf("the child has %+v, want what was sent", mail)
		}
	}},
	{"a child of the same commit is awaited", "a run that a commit creates is there for a step of the commit that awaits it", func(r *rig) {
		k := r.worker("greet", "child")
		s := k.create("greet")
		c := s.childCommit("step_1")
		child := c.Births[0].Run
		awaits := stepCreated("step_2", world.KindAwait)
		awaits.Name, awaits.Peer = child, child
		c.Events, c.Conditions = append(c.Events, awaits), append(c.Conditions, world.Condition{Event: 1})
		before := s.seq
		s.write(c)
		if written := s.events(s.run)[before:]; len(written) != 2 {
			r.Fatalf("got %+v, want that both wait", written)
		}
		created, _ := k.get(child)
		created.append(world.Event{Type: world.RunCompleted, Payload: jsonText(`7`)})
		r.same(string(s.result("step_2").Payload), "7", "the result of the run that was awaited")
	}},
	{"what came with a birth is known when it comes again", "a delivery is appended at most once, also where the first copy is in the birth", func(r *rig) {
		c := birth("greet")
		e := signal(c.Run, "d1", "paid").Events[0]
		e.Seq, e.Time, e.Delivery = 2, c.Events[0].Time, "d1"
		c.Events = append(c.Events, e)
		r.commit(c)
		if done := r.deliver(signal(c.Run, "d1", "paid")); !done.Duplicate {
			r.Errorf("got %+v, want a duplicate", done)
		}
		other := signal(c.Run, "d1", "paid")
		other.Events[0].Payload = jsonText(`"another"`)
		_, err := r.w.Deliver(r.ctx, other)
		r.refused(err, world.ErrDeliveryUsed, "another payload under an ID that came with the birth")
		if done := r.deliver(signal(c.Run, "d2", "paid")); done.Duplicate {
			r.Errorf("got %+v, want it to be new", done)
		}
	}},
	{"what is sent with a birth can have a fingerprint", "a repeat has to have that in common with it, and not the payload; more of them than there are signals with an ID is refused: ErrInvalid", func(r *rig) {
		c := birth("greet")
		e := signal(c.Run, "d1", "paid").Events[0]
		e.Seq, e.Time, e.Delivery = 2, c.Events[0].Time, "d1"
		c.Events, c.Prints = append(c.Events, e), [][]byte{[]byte("one"), []byte("two")}
		_, err := r.w.Commit(r.ctx, c)
		r.refused(err, world.ErrInvalid, "two fingerprints of one signal")
		r.absent(c.Run)
		c.Prints = c.Prints[:1]
		r.commit(c)
		again := func(print string) (world.Delivered, error) {
			return r.w.Deliver(r.ctx, &world.Delivery{Run: c.Run, ID: "d1", Print: []byte(print), Events: saying(signal(c.Run, "", "paid"), `7`).Events})
		}
		done, err := again("one")
		r.must(err, "the same fingerprint")
		r.same(done.Duplicate, true, "a repeat")
		_, err = again("two")
		r.refused(err, world.ErrDeliveryUsed, "another fingerprint")
	}},
	{"a taken child ID fails the step", "a child whose ID is taken is step_failed with RUN_EXISTS in the same commit; the stranger is left alone", func(r *rig) {
		k := r.worker("greet")
		s := k.create("greet")
		stranger := r.createRun("stranger")
		ok := s.childCommit("step_2")
		c := s.childCommit("step_1")
		c.Births[0].Run, c.Events[0].Peer = stranger, stranger
		c.Events = append(c.Events, ok.Events[0], signalEvent("last"))
		c.Events[2].Time = world.Now()
		c.Births = append(c.Births, ok.Births[0])
		c.Conditions = append(c.Conditions, world.Condition{Event: 1, Birth: 1})
		var done world.Committed
		r.unchanged(stranger, func() { done = s.write(c) })
		r.run(ok.Births[0].Run)
		for what, events := range map[string][]world.Event{"as told": done.Events, "in the log": r.events(s.run)[2:]} {
			if len(events) != 4 {
				r.Fatalf("%s: %d events, want 4", what, len(events))
			}
			e := events[3]
			if e.Seq != 6 || e.Type != world.StepFailed || e.ID != "step_1" || e.Error == nil || e.Error.Code != world.CodeRunExists || e.Time.Before(c.Events[2].Time) {
				r.Fatalf("%s: got %+v, want step_failed with RUN_EXISTS as event 6", what, e)
			}
		}
		s.append(signalEvent("on"))
	}},
	{"a taken child without a condition is refused", "what no condition names is refused: ErrRunExists, and nothing written", func(r *rig) {
		s := r.worker("greet").create("greet")
		c := s.childCommit("step_1")
		c.Births[0].Run = r.createRun("stranger")
		c.Conditions = nil
		r.unchanged(s.run, func() {
			_, err := r.w.Commit(r.ctx, c)
			r.refused(err, world.ErrRunExists, "child")
		})
	}},
	{"a child's end reaches its parent", "the terminal commit sends the result to the parent's step, and wakes the parent", func(r *rig) {
		k := r.worker("greet", "child")
		s := k.create("greet")
		ends := []world.Event{
			{Type: world.RunCompleted, Payload: jsonText(`"out"`)},
			{Type: world.RunFailed, Error: &world.Error{Message: "broken", Code: "MINE"}},
			{Type: world.RunCancelled},
			{Type: world.RunCancelled, Error: &world.Error{Message: "on the way"}},
		}
		for _, end := range ends {
			c := s.childCommit("step_" + newRun())
			c.Release = &world.Release{}
			s.write(c)
			child, _ := k.get(c.Births[0].Run)
			child.append(world.Event{Type: world.RunStarted}, end)
			var got world.ClaimedRun
			s, got = k.get(s.run)
			if len(got.Mail) != 1 || len(got.Mail[0].Events) != 1 {
				r.Fatalf("got mail %+v, want one event", got.Mail)
			}
			r.same(got.Mail[0].Events[0], world.ResultFor(&end, c.Events[0].ID), "result")
			c = s.next(got.Mail[0].Events[0])
			c.Mail = rows(got.Mail)
			s.write(c)
		}
	}},
	{"the end of a child whose parent is over tells nobody", "a result for a run that is over is dropped", func(r *rig) {
		k := r.worker("greet", "child")
		s := k.create("greet")
		c := s.childCommit("step_1", func(b *world.Birth) { b.Retention = 0 })
		s.write(c)
		s.end()
		child, _ := k.get(c.Births[0].Run)
		r.unchanged(s.run, func() { child.end() })
		k.idle("all is over")
	}},
	{"an await is answered when the run ends", "the awaiting step is noted, and gets the result at the terminal commit; two that wait both get it", func(r *rig) {
		k := r.worker("greet")
		target, one, two, over := k.create("greet"), k.create("greet"), k.create("greet"), k.create("greet")
		for _, s := range []*session{one, two, over} {
			r.same(len(s.await("step_1", target.run)), 1, "events of an await")
		}
		r.same(len(one.await("step_2", target.run)), 1, "events of a second await")
		over.end()
		end := target.next(world.Event{Type: world.RunCompleted, Payload: jsonText(`42`)})
		target.write(end)
		r.same(one.result("step_1"), world.ResultFor(&end.Events[0], "step_1"), "result")
		r.same(one.result("step_2"), world.ResultFor(&end.Events[0], "step_2"), "result")
		r.same(two.result("step_1"), world.ResultFor(&end.Events[0], "step_1"), "result")
	}},
	{"what a run sends as it ends arrives before its result", "in the order of the body: who goes on by the result has what was sent", func(r *rig) {
		k := r.worker("greet")
		target, s := k.create("greet"), k.create("greet")
		s.await("step_1", target.run)
		c := target.next(world.Event{Type: world.RunCompleted, Payload: jsonText(`1`)})
		c.Send = []world.Delivery{*signal(s.run, "", "sent")}
		target.write(c)
		mail := s.mail()
		if len(mail) != 2 || mail[0].Events[0].Name != "sent" || mail[1].Events[0].ID != "step_1" {
			r.Fatalf("got %+v, want what was sent, then the result", mail)
		}
	}},
	{"an await of a run that is over is answered at once", "its result is appended behind the commit's events", func(r *rig) {
		k := r.worker("greet")
		target, s := k.create("greet"), k.create("greet")
		end := target.next(world.Event{Type: world.RunFailed, Error: &world.Error{Message: "broken", Code: "MINE"}})
		target.write(end)
		got := s.await("step_1", target.run)
		if len(got) != 2 {
			r.Fatalf("got %d events, want 2", len(got))
		}
		want := world.ResultFor(&end.Events[0], "step_1")
		want.Seq, want.Commit, want.Build, want.Time = 4, 3, "b1", got[0].Time
		r.same(got[1], want, "answer")
		s.append(signalEvent("on"))
		r.same(len(s.mail()), 0, "mail")
	}},
	{"a segment that is over awaits nobody", "the end of a run that the segment before awaited is no mail", func(r *rig) {
		k := r.worker("greet")
		target, s := k.create("greet"), k.create("greet")
		s.await("step_1", target.run)
		s.append(world.Event{Type: world.RunContinued, Payload: jsonText(`1`), Next: &world.Continuation{}})
		s.await("step_2", target.run)
		target.end()
		if mail := s.mail(); len(mail) != 1 || mail[0].Events[0].ID != "step_2" {
			r.Fatalf("got %+v, want the result for the step of the newest segment alone", mail)
		}
	}},
	{"an await of a run that did not complete is one of what took its place", "the step has the other run for its peer; where nothing took its place, the run itself", func(r *rig) {
		k := r.worker("greet")
		failed, s := k.create("greet"), k.create("greet")
		failed.append(world.Event{Type: world.RunFailed, Error: &world.Error{Message: "broken", Code: "MINE"}})
		again := k.create("greet", inPlaceOf(failed.run))
		got := s.await("step_1", failed.run)
		if len(got) != 1 || got[0].Peer != again.run {
			r.Fatalf("got %+v, want an await of %s", got, again.run)
		}
		s.append(signalEvent("on"))
		again.append(world.Event{Type: world.RunCancelled})
		if e := s.result("step_1"); e.Type != world.StepFailed {
			r.Fatalf("got %+v, want the end of the second run", e)
		}
		last := k.create("greet", inPlaceOf(again.run))
		last.append(world.Event{Type: world.RunCompleted, Payload: jsonText(`7`)})
		if got := s.await("step_2", failed.run); len(got) != 2 || got[0].Peer != last.run || string(got[1].Payload) != "7" {
			r.Fatalf("got %+v, want the result of %s", got, last.run)
		}
		waits := k.create("greet", inPlaceOf("wrun_other"))
		if got := waits.await("step_1", "wrun_other"); len(got) != 2 || got[1].Error.Code != world.CodeNotFound {
			r.Fatalf("got %+v, want nothing: the run is unknown", got)
		}
		self := k.create("greet")
		self.append(world.Event{Type: world.RunFailed, Error: &world.Error{Message: "broken", Code: "MINE"}})
		instead := k.create("greet", inPlaceOf(self.run))
		if got := instead.await("step_1", self.run); len(got) != 2 || got[0].Peer != self.run || got[1].Error.Code != "MINE" {
			r.Fatalf("got %+v, want the end of the first: none waits for itself", got)
		}
	}},
	{"a step waits on for what took the place of its run", "the end that came goes unsaid; the step is told of the newest run's, with the commit where that is over", func(r *rig) {
		k := r.worker("greet")
		first, one, two := k.create("greet"), k.create("greet"), k.create("greet")
		one.await("step_1", first.run)
		two.await("step_1", first.run)
		first.append(world.Event{Type: world.RunFailed, Error: &world.Error{Message: "broken", Code: "MINE"}})
		second := k.create("greet", inPlaceOf(first.run))
		anew := func(s *session) *world.Commit {
			c := s.next()
			c.Mail, c.Anew = rows(s.mail()), []world.Anew{{Step: "step_1", Run: first.run, At: world.Now()}}
			return c
		}
		waiting := anew(one)
		if done := one.write(waiting); len(done.Events) != 0 || len(one.mail()) != 0 {
			r.Fatalf("got %+v, want nothing said while the second run goes on", done)
		}
		second.append(world.Event{Type: world.RunFailed, Error: &world.Error{Message: "broken", Code: "AGAIN"}})
		r.same(one.result("step_1").Error.Code, "AGAIN", "what the second came to")
		third := k.create("greet", inPlaceOf(second.run))
		third.append(world.Event{Type: world.RunCompleted, Payload: jsonText(`7`)})
		for _, s := range []*session{one, two} {
			before, c := s.seq, anew(s)
			done := s.write(c)
			again, err := r.w.Outcome(r.ctx, c)
			r.must(err, "outcome of a commit that has no events but what its step is told")
			got := s.events(s.run)[before:]
			r.same(again.Events, got, "told by the outcome")
			if len(done.Events) != 1 || len(got) != 1 || got[0].Type != world.StepCompleted || string(got[0].Payload) != "7" || len(s.mail()) != 0 {
				r.Fatalf("told %+v, written %+v; want the result of the third run", done.Events, got)
			}
			bad := s.next(signalEvent("on"))
			bad.Anew = []world.Anew{{Step: "step_1", Run: s.run, At: world.Now()}}
			_, err = r.w.Commit(r.ctx, bad)
			r.refused(err, world.ErrInvalid, "a step that waits for its own run")
		}
	}},
	{"an await of an unknown run fails at once", "step_failed with NOT_FOUND", func(r *rig) {
		s := r.worker("greet").create("greet")
		got := s.await("step_1", "wrun_nobody")
		if len(got) != 2 || got[1].Type != world.StepFailed || got[1].ID != "step_1" || got[1].Error == nil || got[1].Error.Code != world.CodeNotFound {
			r.Fatalf("got %+v, want step_failed with NOT_FOUND", got)
		}
	}},
	{"what a step sends arrives with its commit, or it is told that not", "step_completed where it arrived; NOT_FOUND where the run is unknown, RUN_OVER where it is over, also where another took its place", func(r *rig) {
		k := r.worker("greet")
		s, target, over := k.create("greet"), k.create("greet"), k.create("greet")
		over.append(world.Event{Type: world.RunFailed, Error: &world.Error{Message: "broken"}})
		again := k.create("greet", inPlaceOf(over.run))
		before := s.seq
		c := s.sendCommit(target.run, "wrun_nobody", over.run)
		late := *c
		late.First--
		late.ID = commitID()
		_, err := r.w.Commit(r.ctx, &late)
		r.refused(err, world.ErrLeaseLost, "a commit that is late")
		r.same(len(target.mail()), 0, "mail of a commit that is late")
		s.write(c)
		got := s.events(s.run)[before:]
		if len(got) != 6 || got[3].Type != world.StepCompleted || got[3].ID != "step_0" {
			r.Fatalf("got %+v, want three steps, and their ends", got)
		}
		for i, code := range []string{world.CodeNotFound, world.CodeRunOver} {
			if e := got[4+i]; e.Type != world.StepFailed || e.ID != c.Events[1+i].ID || e.Error == nil || e.Error.Code != code {
				r.Errorf("got %+v, want step_failed with %s", e, code)
			}
		}
		if mail := target.mail(); len(mail) != 1 || mail[0].Events[0].Type != world.SignalReceived || string(mail[0].Events[0].Payload) != `"x"` {
			r.Errorf("got mail %+v, want what was sent", mail)
		}
		r.same(len(again.mail()), 0, "mail of what took the place of the run that is over")
		s.append(signalEvent("on"))
	}},
	{"what a step sends against an end is told as it is", "a send that races with the end arrives before it, or is told that the run is over", func(r *rig) {
		k := r.worker("greet")
		for range 25 {
			target, s := k.create("greet"), k.create("greet")
			send, end := s.sendCommit(target.run), target.next(world.Event{Type: world.RunCompleted, Payload: jsonText(`1`)})
			var wg sync.WaitGroup
			for _, c := range []*world.Commit{send, end} {
				wg.Go(func() {
					if _, err := r.w.Commit(r.ctx, c); err != nil {
						r.Errorf("run %s: %v", c.Run, err)
					}
				})
			}
			wg.Wait()
			events := s.events(s.run)
			last := events[len(events)-1]
			if last.Type != world.StepCompleted && (last.Type != world.StepFailed || last.Error.Code != world.CodeRunOver) {
				r.Fatalf("got %+v, want an answer", last)
			}
		}
	}},
	{"an await wakes a sleeping run", "the result is mail, and mail wakes a running run", func(r *rig) {
		k := r.worker("greet")
		target, s := k.create("greet"), k.create("greet")
		s.await("step_1", target.run)
		s.release(world.Release{})
		k.idle("nothing has come")
		r.deliver(act(target.run, "", world.RunCancelled))
		if _, got := k.get(s.run); len(got.Mail) != 1 || got.Mail[0].Events[0].Error == nil || got.Mail[0].Events[0].Error.Code != world.CodeCancelled {
			r.Fatalf("got %+v, want the step's end with CANCELLED", got.Mail)
		}
	}},
	{"an await against an end misses nothing", "an await that races with the end is answered in its commit or by mail, exactly once", func(r *rig) {
		k := r.worker("greet")
		for range 25 {
			target, s := k.create("greet"), k.create("greet")
			e := stepCreated("step_1", world.KindAwait)
			e.Peer = target.run
			ask, end := s.next(e), target.next(world.Event{Type: world.RunCompleted, Payload: jsonText(`1`)})
			ask.Conditions = []world.Condition{{Event: 0}}
			var wg sync.WaitGroup
			for _, c := range []*world.Commit{ask, end} {
				wg.Go(func() {
					if _, err := r.w.Commit(r.ctx, c); err != nil {
						r.Errorf("run %s: %v", c.Run, err)
					}
				})
			}
			wg.Wait()
			answers := len(s.mail())
			for _, e := range r.events(s.run) {
				if e.Type == world.StepCompleted {
					answers++
				}
			}
			r.same(answers, 1, "answers")
		}
	}},
	{"a forced cancel reaches attached children", "attached children are cancelled when the parent ends, however it ends; detached ones live on", func(r *rig) {
		k := r.worker("greet", "child")
		s := k.create("greet")
		attached, detached := s.childCommit("step_1"), s.childCommit("step_2")
		detached.Births[0].Events[0].Birth.Parent.Detached = true
		s.write(attached)
		detached.First = s.seq + 1
		s.write(detached)
		r.deliver(act(s.run, "", world.RunCancelled))
		claimed := k.claim(10, 0).Runs
		r.same(len(claimed), 2, "children")
		for _, t := range claimed {
			want := t.Run == attached.Births[0].Run
			got := len(t.Mail) == 1 && t.Mail[0].Events[0].Type == world.CancelRequested
			if got != want {
				r.Fatalf("child %s (attached: %v) has mail %+v", t.Run, want, t.Mail)
			}
		}
	}},
	{"of concurrent births of one child one is born", "two parents that ask for one child ID: one gets it, the other's step fails", func(r *rig) {
		k := r.worker("greet", "child")
		for range 10 {
			one, two := k.create("greet"), k.create("greet")
			id := newRun()
			var wg sync.WaitGroup
			for _, s := range []*session{one, two} {
				c := s.childCommit("step_1")
				c.Births[0].Run, c.Events[0].Peer = id, id
				wg.Go(func() {
					if _, err := r.w.Commit(r.ctx, c); err != nil {
						r.Errorf("run %s: %v", c.Run, err)
					}
				})
			}
			wg.Wait()
			loser := one.run
			if r.run(id).Parent.Run == one.run {
				loser = two.run
			}
			for _, s := range []*session{one, two} {
				events := r.events(s.run)
				if failed := events[len(events)-1].Type == world.StepFailed; failed != (s.run == loser) {
					r.Fatalf("run %s ends with %+v; the child is not its own: %v", s.run, events[len(events)-1], s.run == loser)
				}
			}
		}
	}},
}
