// Repeated deliveries: known by event or hook and ID, while the first copy waits and long after, whatever becomes of
// the run.

package worldtest

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stepwell/stepwell/world"
)

// payload is a payload for a hook, by its token.
func payload(token, id, json string) *world.Delivery {
	return &world.Delivery{Token: token, ID: id, Events: []world.Event{{Type: world.HookReceived, Payload: jsonText(json)}}}
}

// saying changes what a delivery says.
func saying(d *world.Delivery, json string) *world.Delivery {
	d.Events[0].Payload = jsonText(json)
	return d
}

// read appends all mail that waits, as an owner does, with events before it, and returns the IDs.
func (s *session) read(before ...world.Event) (ids []string) {
	s.Helper()
	mail := s.mail()
	for _, m := range mail {
		e := m.Events[0]
		e.Delivery = m.ID
		before, ids = append(before, e), append(ids, m.ID)
	}
	if len(before) == 0 {
		return nil
	}
	c := s.next(before...)
	c.Mail = rows(mail)
	s.write(c)
	return ids
}

// again ends the check unless a delivery is known.
func (r *rig) again(d *world.Delivery, what string) {
	r.Helper()
	done, err := r.w.Deliver(r.ctx, d)
	if err != nil || !done.Duplicate {
		r.Fatalf("%s: got %+v, %v; want a duplicate", what, done, err)
	}
}

// next segment: what was before is not wanted any more.
func (s *session) segment(hooks ...string) {
	s.Helper()
	next := &world.Continuation{Hooks: hooks, Trim: s.seq + 1, Base: &world.Base{Segment: 1, Version: 1}}
	for range hooks {
		next.Base.Hooks = append(next.Base.Hooks, world.BaseHook{Seq: 3})
	}
	s.append(world.Event{Type: world.RunContinued, Payload: jsonText(`1`), Next: next})
}

var deliveries = []check{
	{"a delivery that was read is known", "whatever segments pass and whatever is trimmed: signals, payloads by token and by ID, wakes, cancels", func(r *rig) {
		s := r.worker("greet").create("greet")
		s.append(hookCreated("hook_1", "t1"))
		sent := []*world.Delivery{
			signal(s.run, "d", "a"), payload("t1", "d", `1`), cancel(s.run, "d"),
			{Run: s.run, ID: "d", Events: []world.Event{{Type: world.WaitCompleted, ID: "wait_1", Outcome: world.OutcomeWoken}}},
		}
		for _, d := range sent {
			r.same(r.deliver(d).Duplicate, false, string(d.Events[0].Type))
		}
		mail := s.mail()
		r.same(len(mail), len(sent), "mail")
		c := s.next(mail[0].Events[0], mail[1].Events[0])
		c.Mail = rows(mail)
		s.write(c)
		for i := range 3 {
			for _, d := range sent {
				r.again(d, fmt.Sprintf("%s after %d segments", d.Events[0].Type, i))
			}
			byID := &world.Delivery{Run: s.run, ID: "d", Of: "t1", Events: []world.Event{{Type: world.HookReceived, ID: "hook_1", Payload: jsonText(`1`)}}}
			r.again(byID, "the payload, to the hook by its ID")
			s.segment("hook_1")
			r.sweep(10)
		}
		r.same(len(s.mail()), 0, "mail that came again")
	}},
	{"what may only be a repeat is answered as one, or refused", "a payload that was accepted is accepted again when its type has changed meanwhile; nothing else is", func(r *rig) {
		s := r.worker("greet").create("greet")
		s.append(hookCreated("hook_1", "t1"))
		only := func(d *world.Delivery) *world.Delivery {
			d.Repeat = true
			return d
		}
		none := func(when string) {
			r.Helper()
			for _, d := range []*world.Delivery{signal(s.run, "e", "a"), signal(s.run, "d", "b"), payload("t1", "e", `1`)} {
				_, err := r.w.Deliver(r.ctx, only(d))
				r.refused(err, world.ErrNotFound, fmt.Sprint(d.Events[0].Type, " ", when))
			}
		}
		_, err := r.w.Deliver(r.ctx, only(signal(s.run, "", "a")))
		r.refused(err, world.ErrInvalid, "a repeat without an ID")
		none("before anything is sent")
		r.same(r.deliver(signal(s.run, "d", "a")).Duplicate, false, "a signal")
		r.same(r.deliver(payload("t1", "d", `1`)).Duplicate, false, "a payload")
		both := func(when string) {
			r.Helper()
			r.again(only(signal(s.run, "d", "a")), "the signal, "+when)
			r.again(only(payload("t1", "d", `1`)), "the payload, "+when)
			_, err := r.w.Deliver(r.ctx, only(payload("t1", "d", `2`)))
			r.refused(err, world.ErrDeliveryUsed, "another payload, "+when)
			none(when)
		}
		both("while they wait")
		r.same(len(s.read()), 2, "what was read")
		both("when they were read")
		s.append(world.Event{Type: world.RunCompleted})
		both("when the run is over")
	}},
	{"a delivery ID is of one event or hook", "the same ID sent as another event, to another hook or to another run is another delivery", func(r *rig) {
		s := r.worker("greet").create("greet")
		s.append(hookCreated("hook_1", "t1"), hookCreated("hook_2", "t2"))
		other := s.create("greet")
		sent := []*world.Delivery{
			signal(s.run, "d", "a"), signal(s.run, "d", "b"), payload("t1", "d", `1`), payload("t2", "d", `1`), cancel(s.run, "d"), signal(other.run, "d", "a"),
		}
		for i, d := range sent {
			r.same(r.deliver(d).Duplicate, false, fmt.Sprint("delivery ", i))
		}
		r.same(len(s.mail()), 5, "mail")
		for i, d := range sent {
			r.again(d, fmt.Sprint("delivery ", i))
		}
		r.same(s.read(), slices.Repeat([]string{"d"}, 5), "what was read")
		for i, d := range sent {
			r.again(d, fmt.Sprint("delivery ", i, ", read"))
		}
	}},
	{"a token that is opened anew knows what it had", "a payload that comes again is not for the run's next hook with that token", func(r *rig) {
		s := r.worker("greet").create("greet")
		s.append(hookCreated("hook_1", "t1"))
		r.deliver(payload("t1", "d", `1`))
		s.read()
		s.append(world.Event{Type: world.HookDisposed, ID: "hook_1"}, hookCreated("hook_2", "t1"))
		r.again(payload("t1", "d", `1`), "of the hook before")
		r.same(r.deliver(payload("t1", "e", `1`)).Duplicate, false, "another")
	}},
	{"another payload under a used ID is refused", "ErrDeliveryUsed while the first copy waits, when it was read, and when the run is over; JSON that is spelled otherwise is the same", func(r *rig) {
		s := r.worker("greet").create("greet")
		s.append(hookCreated("hook_1", "t1"))
		refused := func(when string) {
			r.Helper()
			for _, d := range []*world.Delivery{saying(signal(s.run, "d", "a"), `{"n":2}`), payload("t1", "d", `2`), {
				Run: s.run, ID: "p", Print: []byte("other"), Events: signal(s.run, "", "a").Events,
			}} {
				_, err := r.w.Deliver(r.ctx, d)
				r.refused(err, world.ErrDeliveryUsed, fmt.Sprint(d.Events[0].Type, " ", when))
			}
			r.again(saying(signal(s.run, "d", "a"), ` { "n" : 1 } `), "the same, "+when)
			r.again(payload("t1", "d", `1`), "the same payload, "+when)
			r.again(&world.Delivery{Run: s.run, ID: "p", Print: []byte("one"), Events: saying(signal(s.run, "", "a"), `7`).Events}, "the same print, "+when)
		}
		r.deliver(signal(s.run, "d", "a"))
		r.deliver(payload("t1", "d", `1`))
		r.deliver(&world.Delivery{Run: s.run, ID: "p", Print: []byte("one"), Events: signal(s.run, "", "a").Events})
		refused("while it waits")
		r.same(len(s.read()), 3, "what was read")
		refused("when it was read")
		s.end()
		refused("when the run is over")
		other := cancel(s.run, "c")
		other.Events[0].Reason = "another"
		_, err := r.w.Deliver(r.ctx, other)
		r.refused(err, world.ErrTerminal, "a cancel that is new")
	}},
	{"a repeat after the end gets the same answer", "what was accepted is accepted again, by run and by token; what is new is ErrTerminal, by token too", func(r *rig) {
		s := r.worker("greet").create("greet")
		s.append(hookCreated("hook_1", "t1"), hookCreated("hook_2", "t2"))
		sent := []*world.Delivery{signal(s.run, "d", "a"), payload("t1", "d", `1`), payload("t2", "d", `1`)}
		for _, d := range sent {
			r.deliver(d)
		}
		s.read()
		s.append(world.Event{Type: world.HookDisposed, ID: "hook_2"})
		r.again(sent[2], "a payload for a hook that was disposed since")
		_, err := r.w.Deliver(r.ctx, payload("t2", "new", `1`))
		r.refused(err, world.ErrNotFound, "a payload for a disposed hook")
		s.end()
		for i, d := range sent {
			done := r.deliver(d)
			r.same([]bool{done.Duplicate, done.Late}, []bool{true, false}, fmt.Sprint("delivery ", i))
		}
		for _, d := range []*world.Delivery{signal(s.run, "e", "a"), payload("t1", "e", `1`), payload("t1", "", `1`)} {
			_, err := r.w.Deliver(r.ctx, d)
			r.refused(err, world.ErrTerminal, string(d.Events[0].Type))
		}
	}},
	{"the run's end tells what came too late", "mail that was accepted and not read when its run ended is on the run's row, and a repeat says so", func(r *rig) {
		s := r.worker("greet").create("greet")
		s.append(hookCreated("hook_1", "t1"))
		r.deliver(signal(s.run, "read", "a"))
		s.read()
		late := []*world.Delivery{cancel(s.run, "c"), act(s.run, "p", world.RunPaused), signal(s.run, "d", "b"), payload("t1", "h", `1`)}
		for _, d := range late {
			r.deliver(d)
		}
		r.same(len(r.run(s.run).Late), 0, "late mail of a run that is not over")
		s.end()
		got := r.run(s.run).Late
		for i := range got {
			if got[i].ArrivedAt.IsZero() {
				r.Errorf("late mail %d has no time of arrival", i)
			}
			got[i].ArrivedAt = time.Time{}
		}
		slices.SortFunc(got, func(a, b world.Late) int { return slices.Compare([]byte(a.Delivery), []byte(b.Delivery)) })
		r.same(got, []world.Late{
			{Type: world.CancelRequested, Delivery: "c", By: "ann", Reason: "test"}, {Type: world.SignalReceived, Name: "b", Delivery: "d"},
			{Type: world.HookReceived, Delivery: "h"}, {Type: world.RunPaused, Delivery: "p", By: "ann", Reason: "test"},
		}, "late mail")
		for _, d := range late {
			r.same(r.deliver(d).Late, true, string(d.Events[0].Type))
		}
		r.same(r.deliver(signal(s.run, "read", "a")).Late, false, "what was read")
	}},
	{"an ended hook is found", "Hooks with Ended: the last that had a token, until its run is swept; one that is active comes before it", func(r *rig) {
		k := r.worker("greet")
		ended := func(token string) (out []world.HookRow) {
			r.Helper()
			out, err := r.w.Hooks(r.ctx, world.HookQuery{Token: token, Ended: true})
			r.must(err, "hooks")
			return out
		}
		first, second := k.create("greet", withRetention(time.Millisecond)), k.create("greet")
		h := hookCreated("hook_1", "t1")
		h.Payload = jsonText(`{"m":1}`)
		first.append(h)
		if got := ended("t1"); len(got) != 1 || got[0].Ended {
			r.Fatalf("got %+v, want the active one", got)
		}
		first.append(world.Event{Type: world.HookDisposed, ID: "hook_1"})
		if got := ended("t1"); len(got) != 1 || !got[0].Ended || got[0].Run != first.run || got[0].ID != "hook_1" || string(got[0].Metadata) != `{"m":1}` {
			r.Fatalf("got %+v, want the one that was disposed", got)
		}
		second.append(hookCreated("hook_2", "t1"), hookCreated("hook_3", "t3"), hookCreated("hook_4", "t4"))
		if got := ended("t1"); len(got) != 1 || got[0].Ended || got[0].Run != second.run {
			r.Fatalf("got %+v, want the active one of another run", got)
		}
		second.append(world.Event{Type: world.RunContinued, Payload: jsonText(`1`), Next: &world.Continuation{Hooks: []string{"hook_2", "hook_4"}}})
		if got := ended("t3"); len(got) != 1 || !got[0].Ended {
			r.Fatalf("got %+v, want the one that was not carried over", got)
		}
		second.end()
		for _, token := range []string{"t1", "t4"} {
			if got := ended(token); len(got) != 1 || !got[0].Ended || got[0].Run != second.run {
				r.Fatalf("%s: got %+v, want the one of the run that ended last", token, got)
			}
		}
		third := k.create("greet")
		third.append(hookCreated("hook_1", "t7"), world.Event{Type: world.HookDisposed, ID: "hook_1"}, hookCreated("hook_2", "t7"),
			world.Event{Type: world.HookDisposed, ID: "hook_2"}, hookCreated("hook_3", "t8"),
			world.Event{Type: world.RunContinued, Payload: jsonText(`1`), Next: &world.Continuation{}}, hookCreated("hook_4", "t9"))
		third.append(hookCreated("hook_5", "t10"), world.Event{Type: world.RunCompleted, Payload: jsonText(`1`)})
		for token, id := range map[string]string{"t7": "hook_2", "t8": "hook_3", "t9": "hook_4", "t10": "hook_5"} {
			if got := ended(token); len(got) != 1 || !got[0].Ended || got[0].ID != id {
				r.Fatalf("%s: got %+v, want %s, which was over in the commit of its birth", token, got, id)
			}
		}
		r.same(len(ended("unknown")), 0, "hooks with an unknown token")
		rows, err := r.w.Hooks(r.ctx, world.HookQuery{Token: "t1"})
		r.must(err, "hooks")
		r.same(len(rows), 0, "active hooks")
		third = k.create("greet", withRetention(time.Millisecond))
		third.append(hookCreated("hook_5", "t5"), hookCreated("hook_6", "t1"))
		third.end()
		first.end()
		left := 2
		r.until("both are swept", func() bool { left -= r.sweep(10); return left == 0 })
		r.same(len(ended("t5")), 0, "hooks of a swept run")
		if got := ended("t1"); len(got) != 1 || got[0].Run != second.run {
			r.Errorf("got %+v, want the one of the run that is there still", got)
		}
		_, err = r.w.Deliver(r.ctx, payload("t5", "d", `1`))
		r.refused(err, world.ErrNotFound, "a payload for it")
	}},
	{"repeats at the same time are one", "many senders, one ID: one copy is accepted, the others are told that it is there", func(r *rig) {
		s := r.worker("greet").create("greet")
		const senders, ids = 8, 20
		var fresh, used atomic.Int32
		var wg sync.WaitGroup
		for i := range senders {
			wg.Go(func() {
				for id := range ids {
					d := signal(s.run, fmt.Sprint(id), "a")
					if i%2 == 1 && id%2 == 1 {
						d = saying(d, `{"n":2}`)
					}
					switch done, err := r.w.Deliver(r.ctx, d); {
					case err != nil && id%2 == 1:
						r.refused(err, world.ErrDeliveryUsed, "the other payload")
						used.Add(1)
					case err != nil:
						r.Errorf("delivery %d: %v", id, err)
					case !done.Duplicate:
						fresh.Add(1)
					}
				}
			})
		}
		wg.Wait()
		r.same(fresh.Load(), int32(ids), "accepted")
		r.same(used.Load(), int32(senders/2*ids/2), "refused: half of the senders of every other ID")
		r.same(len(s.mail()), ids, "mail")
	}},
	{"ten thousand deliveries are known", "the last DeliveriesKept of a run, and all of the last 24 hours", func(r *rig) {
		s := r.worker("greet").create("greet")
		const all = world.DeliveriesKept + 500
		r.flood(s, "", all)
		r.sweep(10)
		for _, i := range []int{0, 1, 250, all - 1} {
			r.again(signal(s.run, fmt.Sprint(i), "a"), fmt.Sprint("delivery ", i))
		}
	}},
}

// flood sends many signals, and reads them.
func (r *rig) flood(s *session, prefix string, n int) {
	r.Helper()
	const senders = 16
	for from := 0; from < n; from += 2000 {
		var wg sync.WaitGroup
		for k := range senders {
			wg.Go(func() {
				for i := from + k; i < min(n, from+2000); i += senders {
					if _, err := r.w.Deliver(r.ctx, signal(s.run, fmt.Sprint(prefix, i), "a")); err != nil {
						r.Errorf("delivery %d: %v", i, err)
					}
				}
			})
		}
		wg.Wait()
		s.read()
	}
}

// RunForgetting tests what a store may forget of deliveries. open returns an empty store that keeps
// deliveries for only a microsecond, besides the last [world.DeliveriesKept] of a run.
func RunForgetting(t *testing.T, open func(testing.TB) world.World) {
	r := newRig(t, open(t))
	r.ctx = context.WithoutCancel(r.ctx)
	k := r.worker("greet")
	sender, s := k.create("greet"), k.create("greet")
	from := func(run, id string) *world.Delivery {
		d := signal(s.run, id, "a")
		d.Sender = run
		return d
	}
	step := world.PrefixStep + "_01JD3V7Q5ZJ8K2M4N6P8R0T2V4"
	own, foreign, bare := from(sender.run, "own"), from("wrun_elsewhere", "foreign"), signal(s.run, step+"-2", "a")
	for _, d := range []*world.Delivery{own, foreign, bare, signal(s.run, "old", "a")} {
		r.deliver(d)
	}
	s.read()
	r.flood(s, "f", world.DeliveriesKept+10*world.PassedBy)
	r.deliver(signal(s.run, "unread", "a"))
	known := func() (n int) {
		r.Helper()
		for i := range 10 * world.PassedBy {
			done := r.deliver(signal(s.run, fmt.Sprint("f", i), "a"))
			if !done.Duplicate {
				return n
			}
			n++
		}
		return n
	}
	r.until("the oldest is forgotten", func() bool {
		r.sweep(1)
		return !r.deliver(signal(s.run, "old", "a")).Duplicate
	})
	r.same(known() < 10*world.PassedBy, true, "others are forgotten too")
	r.again(own, "of a step whose run is not over")
	r.again(foreign, "of a step of another world")
	r.again(bare, "under a step's key, whoever sent it")
	r.again(signal(s.run, "unread", "a"), "unread")
	last := fmt.Sprint("f", world.DeliveriesKept+10*world.PassedBy-1)
	r.again(signal(s.run, last, "a"), "the last")

	sender.end()
	s.read()
	r.flood(s, "g", 10*world.PassedBy)
	r.until("what a step sent is forgotten with its run", func() bool {
		r.sweep(1)
		return !r.deliver(own).Duplicate
	})
	r.again(foreign, "of a step of another world, still")
	r.again(bare, "under a step's key, still")
	s.end()
}
