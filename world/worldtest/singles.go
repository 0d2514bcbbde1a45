// Singletons: at most one run of a workflow and key is live, and none is lost.

package worldtest

import (
	"strings"
	"sync"
	"time"

	"github.com/stepwell/stepwell/world"
)

// single has a run be the one live run of its workflow and key.
func single(then world.Single, key string) func(*world.Birth) {
	return func(b *world.Birth) {
		said := world.NewSingle(b.Workflow, then)
		p := said.Place()
		p.Key = key
		b.Places = append(b.Places, p)
		world.OrderPlaces(b.Places)
	}
}

// merged creates a run, and ends the check unless another one is there in its place.
func (l *limiting) merged(want, workflow string, with ...func(*world.Birth)) {
	l.Helper()
	c := birth(workflow, with...)
	if done := l.commit(c); done.Existing != want {
		l.Fatalf("the start of %s is answered with run %q, want %s", workflow, done.Existing, want)
	}
	if want != c.Run {
		l.absent(c.Run)
	}
}

// replaced ends the check unless a run that had begun was sent a cancel, for another that takes its place.
func (s *session) replaced(by string) {
	s.Helper()
	s.until("run "+s.run+" is to be cancelled", func() bool { return len(s.mail()) > 0 })
	e := s.mail()[0].Events[0]
	if e.Type != world.CancelRequested || e.By != by || !strings.Contains(e.Reason, "replaces it, by ") {
		s.Fatalf("got %+v", e)
	}
}

// cancelled ends runs that are given, and have not begun, as their cancels say.
func (l *limiting) cancelled(k *worker, runs ...string) {
	l.Helper()
	for _, s := range l.gets(k, "they are to be cancelled", runs...) {
		if mail := s.mail(); len(mail) != 1 || mail[0].Events[0].Type != world.CancelRequested {
			l.Fatalf("run %s was given with mail %+v", s.run, mail)
		}
		c := s.next(s.mail()[0].Events[0], world.Event{Type: world.RunCancelled})
		c.Mail = rows(s.mail())
		s.write(c)
	}
}

func later(b *world.Birth) { b.NotBefore = world.Now().Add(time.Hour) }

// ofAnother has the run be made of another one.
func ofAnother(run string) func(*world.Birth) {
	return func(b *world.Birth) { b.Origin = &world.Origin{Run: run, Seq: 1} }
}

var singles = []check{
	{"the live run of a key is kept", "while a run of a key is live, starts are answered with it; then there is a new one", withLimits(func(l *limiting) {
		k := l.worker("greet", "other")
		keep := single(world.SingleKeep, "ann")
		first := l.createRun("greet", keep, later)
		l.merged(first, "greet", keep)
		bob := l.createRun("greet", single(world.SingleKeep, "bob"))
		none := l.createRun("greet", single(world.SingleKeep, ""))
		other := l.createRun("other", keep)
		l.merged(none, "greet", single(world.SingleKeep, ""))
		for _, s := range l.gets(k, "they are of other keys", bob, none, other) {
			s.begin()
			s.release(world.Release{})
		}
		l.merged(other, "other", keep)
		l.merged(bob, "greet", single(world.SingleKeep, "bob"))
		l.deliver(act(first, "", world.RunCancelled))
		l.commit(birth("greet", keep, later))
		l.deliver(act(bob, "", world.RunCancelled))
		ses, _ := k.get(l.createRun("greet", single(world.SingleKeep, "bob")))
		l.merged(ses.run, "greet", single(world.SingleKeep, "bob"))
		ses.end()
		l.createRun("greet", single(world.SingleKeep, "bob"))
	})},
	{"the ID and the key of a start come first", "a start that is made again is answered as ever, whichever run is live", withLimits(func(l *limiting) {
		k := l.worker("greet")
		for _, then := range []world.Single{world.SingleKeep, world.SingleReplace} {
			one := single(then, string(then))
			c := birth("greet", one, withKey("k-"+string(then)))
			l.commit(c)
			l.merged(c.Run, "greet", withKey("k-"+string(then)))
			l.merged(c.Run, "greet", one, withKey("k-"+string(then)))
			ses, _ := k.get(c.Run)
			ses.begin()
			if mail := ses.mail(); len(mail) > 0 {
				l.Errorf("run %s was sent %+v", c.Run, mail)
			}
			again := birth("greet", one)
			again.Run = c.Run
			l.refusedCommit(again, world.ErrRunExists, "a start with the ID of the live run")
			ses.end()
			next := l.createRun("greet", one)
			l.merged(c.Run, "greet", one, withKey("k-"+string(then)))
			again.Run = c.Run
			l.refusedCommit(again, world.ErrRunExists, "a start with the ID of a run that is over")
			if ses, _ := k.get(next); len(ses.mail()) > 0 {
				l.Errorf("run %s was sent %+v", next, ses.mail())
			}
		}
	})},
	{"a new run takes the place of the live one", "that is cancelled, and the new one begins when it is over; who waits for this is replaced itself", withLimits(func(l *limiting) {
		k := l.worker("greet")
		replace := single(world.SingleReplace, "ann")
		old, _ := k.get(l.createRun("greet", replace))
		old.begin()
		l.commit(birth("greet", replace, func(b *world.Birth) { b.Places[0].Key = "bob" }))
		l.gets(k, "another key", l.list(world.RunQuery{Status: []world.Status{world.Pending}})...)
		second := l.createRun("greet", replace)
		old.replaced(second)
		k.idle("the old one cleans up")
		third := l.createRun("greet", replace)
		l.cancelled(k, second)
		k.idle("the old one cleans up")
		l.same(len(old.mail()), 1, "mail of the old one")
		old.release(world.Release{WakeAt: world.Now().Add(time.Hour)})
		ses, _ := k.get(old.run)
		k.idle("the old one sleeps in its clean-up, and has its place")
		ses.end()
		last := l.gets(k, "the old one is over", third)[0]
		l.same(l.run(second).Status, world.Cancelled, "the second")
		last.end()
		l.gets(k, "nobody is live", l.createRun("greet", replace))[0].end()
		l.stands(world.SingleName("greet"), "ann", 0, 0)
	})},
	{"runs that have not begun are replaced", "one that is delayed, paused or blocked too; a run that is ended by force leaves its place", withLimits(func(l *limiting) {
		k := l.worker("greet")
		replace := single(world.SingleReplace, "ann")
		delayed := l.createRun("greet", replace, later)
		plain := l.createRun("greet", replace)
		var paused *session
		for _, c := range k.claim(2, 0).Runs { // the delayed one holds nobody up: none of its code runs
			switch ses := (&session{worker: k, run: c.Run, claimed: c.Claim, seq: c.Seq}); c.Run {
			case plain:
				paused = ses
			case delayed:
				ses.append(world.Event{Type: world.RunCancelled})
			}
		}
		l.same(l.run(delayed).Status, world.Cancelled, "the delayed one")
		if paused == nil {
			paused, _ = k.get(plain)
		}
		paused.begin()
		paused.append(world.Event{Type: world.RunPaused, By: "ann"})
		paused.release(world.Release{})
		next := l.createRun("greet", replace)
		ses, _ := k.get(plain)
		ses.replaced(next)
		l.deliver(act(plain, "", world.RunCancelled))
		l.gets(k, "it was ended by force", next)[0].end()
	})},
	{"what is made of another run takes nobody's place", "a retry, a fork, a restart and a log are refused while a run of their key is live", withLimits(func(l *limiting) {
		k := l.worker("greet")
		for _, then := range []world.Single{world.SingleKeep, world.SingleReplace} {
			one := single(then, string(then))
			first := l.createRun("greet", one)
			l.gets(k, "the first", first)[0].end()
			live, _ := k.get(l.createRun("greet", one))
			l.refusedCommit(birth("greet", one, ofAnother(first)), world.ErrRunExists, "a restart")
			l.refusedCommit(birth("greet", one, ofAnother(first), withKey(world.RetryKey(first))), world.ErrRunExists, "a retry")
			log := birth("greet", one)
			log.Events = append(log.Events, world.Event{Type: world.RunStarted, Time: world.Now()})
			l.refusedCommit(log, world.ErrRunExists, "a log")
			l.absent(log.Run)
			over := birth("greet", one)
			over.Events = append(over.Events, world.Event{Type: world.RunStarted, Time: world.Now()}, world.Event{Type: world.RunCompleted, Payload: []byte(`1`), Time: world.Now()})
			l.same(l.commit(over).Existing, "", "the log of a run that is over")
			l.same(len(live.mail()), 0, "mail of the live one")
			live.end()
			retry := birth("greet", one, ofAnother(first), withKey(world.RetryKey(first)))
			l.same(l.commit(retry).Existing, "", "a retry")
			l.merged(retry.Run, "greet", one, withKey(world.RetryKey(first)), ofAnother(first))
			if then == world.SingleKeep {
				l.merged(retry.Run, "greet", one)
			}
			l.gets(k, "the retry", retry.Run)[0].end()
		}
	})},
	{"children are singletons too", "one that is kept from being created fails its step, and says by whom; its parent is never replaced", withLimits(func(l *limiting) {
		k := l.worker("greet", "child")
		keep, replace := single(world.SingleKeep, "keep"), single(world.SingleReplace, "replace")
		parent := k.create("greet")
		fails := func(c *world.Commit, live string) {
			l.Helper()
			c.First = parent.seq + 1
			done := parent.write(c)
			n := len(done.Events)
			if n == 0 || done.Events[n-1].Type != world.StepFailed || done.Events[n-1].Error.Code != world.CodeRunExists || !strings.Contains(done.Events[n-1].Error.Message, live) {
				l.Fatalf("got %+v, want a child that run %s keeps from being created", done.Events, live)
			}
			l.absent(c.Births[0].Run)
		}
		stranger := l.createRun("child", keep)
		fails(parent.childCommit("step_1", keep), stranger)
		ses := l.gets(k, "the stranger", stranger)[0]
		ses.end()
		c := parent.childCommit("step_2", keep)
		parent.write(c)
		l.merged(c.Births[0].Run, "child", keep)
		l.gets(k, "the child", c.Births[0].Run)[0].end()

		live, _ := k.get(l.createRun("child", replace))
		live.begin()
		c = parent.childCommit("step_3", replace)
		parent.write(c)
		live.replaced(c.Births[0].Run)
		k.idle("the old one cleans up")
		live.end()
		own := l.gets(k, "the child", c.Births[0].Run)[0]
		own.begin()
		grandchild := own.childCommit("step_1", replace)
		grandchild.First = own.seq + 1
		if done := own.write(grandchild); len(done.Events) == 0 || done.Events[len(done.Events)-1].Type != world.StepFailed {
			l.Fatalf("got %+v, want a child that its parent keeps from being created", done.Events)
		}

		two := parent.childCommit("step_4", keep)
		more := parent.childCommit("step_5", keep)
		two.Events, two.Births = append(two.Events, more.Events...), append(two.Births, more.Births...)
		two.Conditions = append(two.Conditions, world.Condition{Event: 1, Birth: 1})
		done := parent.write(two)
		if n := len(done.Events); n != 3 || done.Events[2].ID != "step_5" || !strings.Contains(done.Events[2].Error.Message, two.Births[0].Run) {
			l.Fatalf("got %+v, want the second of two children kept from being created", done.Events)
		}
		l.gets(k, "the first of two", two.Births[0].Run)[0].end()
		own.end()
		two = parent.childCommit("step_6", replace)
		more = parent.childCommit("step_7", replace)
		two.Events, two.Births = append(two.Events, more.Events...), append(two.Births, more.Births...)
		two.Conditions = append(two.Conditions, world.Condition{Event: 1, Birth: 1})
		parent.write(two)
		l.until("both are there", func() bool { return l.run(two.Births[1].Run).Queue != nil })
		first, _ := k.get(two.Births[0].Run)
		first.replaced(two.Births[1].Run)
		first.end()
		l.gets(k, "the second of two", two.Births[1].Run)[0].end()
	})},
	{"who waits names whom", "a run that waits for the one before it to end shows which that is, also where it took the place of one that waited", withLimits(func(l *limiting) {
		k := l.worker("greet")
		replace := single(world.SingleReplace, "k")
		waits := func(run, behind string) {
			l.Helper()
			l.until("run "+run+" waits for "+behind, func() bool { q := l.run(run).Queue; return q.Limit == world.SingleName("greet") && q.Behind == behind })
		}
		first, _ := k.get(l.createRun("greet", replace))
		first.begin()
		second := l.createRun("greet", replace)
		waits(second, first.run)
		third := l.createRun("greet", replace)
		waits(third, first.run)
		l.cancelled(k, second)
		first.end()
		s, _ := k.get(third)
		l.same(l.run(third).Queue.Behind, "", "whom it waits for that has begun")
		s.end()
		other := l.createRun("greet", under("bank:0"))
		l.same(l.run(other).Queue.Behind, "", "whom a run waits for that stands in another line")
	})},
	{"starts of a key at once", "there is one live run, whoever is first; all that were replaced are cancelled, and no two are at work", withLimits(func(l *limiting) {
		k := l.worker("greet")
		const n = 12
		for _, then := range []world.Single{world.SingleKeep, world.SingleReplace} {
			one := single(then, string(then))
			births, got := make([]*world.Commit, n), make([]string, n)
			var all sync.WaitGroup
			for i := range n {
				births[i] = birth("greet", one)
				all.Go(func() {
					done, err := l.w.Commit(l.ctx, births[i])
					if got[i] = done.Existing; err != nil {
						l.Errorf("start %d: %v", i, err)
					}
				})
			}
			all.Wait()
			made := make(map[string]bool)
			for i, c := range births {
				if got[i] == "" {
					made[c.Run] = true
				}
			}
			for i := range births {
				if got[i] != "" && (!made[got[i]] || then == world.SingleReplace) {
					l.Fatalf("start %d was answered with run %s", i, got[i])
				}
			}
			if want := map[world.Single]int{world.SingleKeep: 1, world.SingleReplace: n}[then]; len(made) != want {
				l.Fatalf("%d runs were created, want %d", len(made), want)
			}
			ended, at := 0, 0
			l.until("all are over", func() bool {
				for _, c := range k.claim(100, 0).Runs {
					ses := &session{worker: k, run: c.Run, claimed: c.Claim, seq: c.Seq}
					if len(c.Mail) > 0 {
						ses.append(world.Event{Type: world.RunCancelled})
					} else if at++; at > 1 {
						l.Fatalf("two runs of a key were given to begin: the second is %s", c.Run)
					} else {
						ses.end()
					}
					ended++
				}
				return ended == len(made)
			})
			l.same(at, 1, "runs that began")
		}
	})},
	{"singletons that make no sense", "are refused", withLimits(func(l *limiting) {
		for what, with := range map[string]func(*world.Birth){
			"two":                func(b *world.Birth) { single(world.SingleKeep, "a")(b); single(world.SingleKeep, "b")(b) },
			"another workflow's": func(b *world.Birth) { b.Places = []world.Place{placeOf("other", "a")} },
			"of nothing": func(b *world.Birth) {
				b.Places = []world.Place{{Limit: world.SingleName("greet"), Number: 1, UntilEnd: true}}
			},
			"of two at once":      func(b *world.Birth) { single(world.SingleKeep, "a")(b); b.Places[0].Number = 2 },
			"with another word":   func(b *world.Birth) { single("perhaps", "a")(b) },
			"under another name":  func(b *world.Birth) { single(world.SingleKeep, "a")(b); b.Places[0].Limit = "greet" },
			"with a key too long": single(world.SingleKeep, strings.Repeat("k", world.MaxLimitKey+1)),
		} {
			_, err := l.w.Commit(l.ctx, birth("greet", with))
			l.refused(err, world.ErrInvalid, "a singleton "+what)
		}
		l.createRun("greet", single(world.SingleKeep, "a"))
		two := 2
		l.refused(l.l.SetLimit(l.ctx, world.SingleName("greet"), &two), world.ErrInvalid, "two live runs of a singleton")
	})},
}

func placeOf(workflow, key string) world.Place {
	said := world.NewSingle(workflow, world.SingleKeep)
	p := said.Place()
	p.Key = key
	return p
}
