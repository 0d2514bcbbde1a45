// Limits of queues: never too many messages at once, in order, and none is passed by for ever.

package worldtest

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/stepwell/stepwell/world"
)

// holding is what the checks use of a world's queues and limits.
type holding struct {
	*messaging
	*limiting
	*rig
}

// withHeld is a check of a world that keeps both, with the queue q, which has these limits.
func withHeld(limits []world.SaidLimit, f func(h *holding)) func(r *rig) {
	return withLimits(func(l *limiting) {
		withMessages(func(m *messaging) {
			h := &holding{m, l, m.rig}
			h.limit(limits...)
			f(h)
		})(l.rig)
	})
}

func byTo(name string, n int) world.SaidLimit {
	return world.SaidLimit{Name: name, Number: n, Path: "to"}
}

func (h *holding) limit(limits ...world.SaidLimit) {
	h.Helper()
	h.declare(world.MessageQueue{Name: "q", MaxReceives: 1000, Limits: append([]world.SaidLimit{}, limits...)})
}

// mail sends {"to": to, "n": n} for each number, and they are shown as "to n".
func (h *holding) mail(to string, numbers ...int) {
	h.Helper()
	for _, n := range numbers {
		h.put(mailOf(to, n))
	}
}

func mailOf(to string, n int) world.Message {
	return world.Message{Queue: "q", Payload: fmt.Appendf(nil, `{"to":%q,"n":%d}`, to, n)}
}

func shownMail(m *world.Message) (text string) {
	to, _ := world.KeyAt(m.Payload, "to")
	n, _ := world.KeyAt(m.Payload, "n")
	return to + " " + n
}

// comes ends the check unless a receive gets these, in this order.
func (h *holding) comes(want ...string) (got []world.Message) {
	h.Helper()
	got = h.receive(50).Messages
	h.same(h.shown(got), want, "what was received")
	return got
}

func (h *holding) shown(all []world.Message) (texts []string) {
	for i := range all {
		texts = append(texts, shownMail(&all[i]))
	}
	return texts
}

var limitsOfMessages = []check{
	{"never more messages than the limit", "so many messages of a key are out as it has places, in order; a key holds up no other", withHeld([]world.SaidLimit{byTo("bank", 2)}, func(h *holding) {
		h.mail("ann", 1, 2, 3, 4)
		h.mail("bob", 5)
		got := h.comes("ann 1", "ann 2", "bob 5")
		h.comes()
		h.stands("bank", "ann", 2, 2)
		h.stands("bank", "bob", 1, 0)
		page, err := h.k.PeekMessages(h.ctx, world.PeekQuery{Queue: "q", State: world.MessageParked})
		h.must(err, "peek")
		h.same(h.shown(page.Messages), []string{"ann 3", "ann 4"}, "messages in line")
		h.ends(world.Ack, 0, true, got[1])
		last := h.comes("ann 3")
		h.ends(world.Ack, 0, true, got[0], got[2], last[0])
		h.ends(world.Ack, 0, true, h.comes("ann 4")...)
		h.stands("bank", "ann", 0, 0)
	})},
	{"what holds a key is told", "runs, then steps, then messages, of each the oldest first, at most so many; who stands in line is none of them", withHeld([]world.SaidLimit{byTo("bank", 6)}, func(h *holding) {
		k := h.worker("greet")
		all := h.line(3, "greet", under("bank/ann:6"))
		held := h.limiting.gets(k, "there is room", all...)
		h.queue(held[1].begin(), under("bank/ann:6"), "step_b")
		h.queue(held[0].begin(), under("bank/ann:6"), "step_a")
		h.tasksOf(k, "there is room", "step_a", "step_b")
		h.mail("ann", 1, 2)
		h.mail("bob", 3)
		got := h.comes("ann 1", "bob 3")
		want := []world.LimitHolder{
			{Run: all[0], Name: "greet"}, {Run: all[1], Name: "greet"}, {Run: all[2], Name: "greet"},
			{Run: all[1], Step: "step_b", Name: "task"}, {Run: all[0], Step: "step_a", Name: "task"}, {Message: got[0].ID, Name: "q"},
		}
		h.same(h.holders("bank", "ann"), want, "holders")
		h.same(h.holders("bank", "bob"), []world.LimitHolder{{Message: got[1].ID, Name: "q"}}, "holders of another key")
		few, err := h.l.ListHolders(h.ctx, "bank", "ann", 2)
		h.must(err, "holders")
		h.same(few, want[:2], "at most two")
		h.same(len(h.holders("bank", "nobody")), 0, "of a key that nothing needs")
		for _, nowhere := range []string{"no-bank", "\x00", "\xff"} {
			_, err = h.l.ListHolders(h.ctx, nowhere, "ann", 2)
			h.refused(err, world.ErrNotFound, "holders of a limit that is not there")
			_, err = h.l.ListLimitKeys(h.ctx, nowhere, "", 2)
			h.refused(err, world.ErrNotFound, "keys of a limit that is not there")
		}
	})},
	{"each end of a receive gives back", "nack, unread, bury, a purge; not the extension; what comes again stands by when it was sent", withHeld([]world.SaidLimit{byTo("bank", 1)}, func(h *holding) {
		h.mail("ann", 1, 2, 3)
		one := h.comes("ann 1")
		h.ends(world.Extend, time.Minute, true, one...)
		h.comes()
		h.ends(world.Unread, time.Minute, true, one...)
		h.ends(world.Nack, time.Minute, true, h.comes("ann 2")...)
		h.ends(world.Bury, 0, true, h.comes("ann 3")...)
		h.comes()
		h.mail("ann", 4, 5)
		h.comes("ann 4")
		h.stands("bank", "ann", 1, 1)
		_, _, err := h.k.PurgeMessages(h.ctx, "q", false)
		h.must(err, "purge")
		h.stands("bank", "ann", 0, 0)
		h.mail("ann", 6, 7, 8)
		six := h.comes("ann 6")
		h.must(h.l.SetLimit(h.ctx, "bank", new(0)), "set")
		h.ends(world.Nack, 0, true, six...)
		h.comes()
		h.stands("bank", "ann", 0, 3)
		h.must(h.l.SetLimit(h.ctx, "bank", nil), "set")
		h.ends(world.Ack, 0, true, h.comes("ann 6")...)
		h.comes("ann 7")
	})},
	{"a dead letter that comes back stands in line", "it holds no place while it is dead", withHeld([]world.SaidLimit{byTo("bank", 1)}, func(h *holding) {
		h.mail("ann", 1, 2)
		h.ends(world.Bury, 0, true, h.comes("ann 1")...)
		two := h.comes("ann 2")
		n, _, err := h.k.RedriveMessages(h.ctx, "q")
		h.must(err, "redrive")
		h.same(n, 1, "messages that came back")
		h.comes()
		h.ends(world.Ack, 0, true, two...)
		h.comes("ann 1")
	})},
	{"a queue that nobody receives from keeps no place", "what is let in gives its place back after a while where the queue shares its limit, whoever received it is gone or nobody came; it stands in line again when somebody receives, as it was sent; a queue of which something is out keeps its places", withHeld([]world.SaidLimit{byTo("bank", 1)}, func(h *holding) {
		if h.over {
			h.rig.Log("another world looks after that")
			return
		}
		h.declare(world.MessageQueue{Name: "other", MaxReceives: 1000, Limits: []world.SaidLimit{byTo("bank", 1)}})
		for _, name := range []string{"busy", "beside"} {
			h.declare(world.MessageQueue{Name: name, MaxReceives: 1000, Limits: []world.SaidLimit{byTo("till", 2)}})
		}
		in := func(queue, to string, n int, group string) world.Message {
			m := mailOf(to, n)
			if m.Queue = queue; group != "" {
				m.Group = group
			}
			return m
		}
		from := func(queue string, limit int, visibility time.Duration) world.Received {
			got, err := h.k.ReceiveMessages(h.ctx, world.ReceiveQuery{Queue: queue, Limit: limit, Visibility: visibility})
			h.must(err, "receive from "+queue)
			return got
		}
		h.put(in("q", "ann", 1, ""), in("q", "ann", 2, ""), in("q", "ann", 3, "g"), in("q", "bob", 4, ""), in("other", "ann", 5, ""))
		h.put(in("busy", "cy", 6, ""), in("busy", "cy", 7, ""), in("beside", "cy", 8, ""))
		lost := from("q", 1, world.MinVisibility) // by one that dies
		h.same(h.shown(lost.Messages), []string{"ann 1"}, "what was received")
		h.same(len(from("busy", 1, time.Hour).Messages), 1, "what is out of the busy queue")
		h.same(len(from("other", 5, 0).Messages), 0, "what is received while another has the place")
		next, err := h.w.Starts().Settle(h.ctx)
		h.must(err, "settle")
		if next <= 0 || next > world.NeglectAfter {
			h.rig.Fatalf("it is looked at again in %s, want within %s", next, world.NeglectAfter)
		}
		var got []world.Message
		h.rig.until("the place is given back", func() bool {
			_, err := h.w.Starts().Settle(h.ctx)
			h.must(err, "settle")
			got = append(got, from("other", 5, time.Hour).Messages...)
			return len(got) > 0
		})
		h.same(h.shown(got), []string{"ann 5"}, "what is received then")
		h.stands("bank", "ann", 1, 0)
		h.stands("bank", "bob", 0, 0)
		h.ends(world.Ack, 0, false, lost.Messages...)
		h.same(len(from("beside", 5, 0).Messages), 0, "what is received beside a busy queue")
		bob := h.comes("bob 4") // the others stand in line now
		h.stands("bank", "ann", 1, 3)
		h.ends(world.Ack, 0, true, got[0], bob[0])
		for _, want := range []string{"ann 1", "ann 2", "ann 3"} {
			h.ends(world.Ack, 0, true, h.comes(want)...)
		}
		h.stands("bank", "ann", 0, 0)
	})},
	{"a place outlives a receive", "a message whose visibility ends keeps its place: it is received again, and no other of its key beside it", withHeld([]world.SaidLimit{byTo("bank", 1)}, func(h *holding) {
		h.mail("ann", 1, 2)
		got, err := h.k.ReceiveMessages(h.ctx, world.ReceiveQuery{Queue: "q", Limit: 5, Visibility: world.MinVisibility})
		h.must(err, "receive")
		h.same(h.shown(got.Messages), []string{"ann 1"}, "what was received")
		var again []world.Message
		h.until("it comes again", func() bool { again = h.receive(5).Messages; return len(again) > 0 })
		h.same(h.shown(again), []string{"ann 1"}, "what came again")
		h.ends(world.Ack, 0, false, got.Messages...)
		h.comes()
		h.ends(world.Ack, 0, true, again...)
		h.comes("ann 2")
	})},
	{"messages, delayed and with priorities", "what is due stands in line, and no place is held for what is not; higher priority first", withHeld([]world.SaidLimit{byTo("bank", 1)}, func(h *holding) {
		never := mailOf("eve", 0)
		never.Delay = time.Hour
		h.put(never)
		h.mail("ann", 1)
		one := h.comes("ann 1")
		late := mailOf("ann", 2)
		late.Delay = 50 * time.Millisecond
		h.put(late)
		h.mail("ann", 3)
		urgent := mailOf("ann", 4)
		urgent.Priority = 4
		h.put(urgent)
		h.until("the late one stands in line", func() bool {
			h.comes()
			keys, err := h.l.ListLimitKeys(h.ctx, "bank", "ann", 10)
			h.must(err, "keys")
			if len(keys) > 0 && keys[0].Used > 0 {
				h.Fatalf("a place is held for what has a delay: %+v", keys)
			}
			all, err := h.l.ListLimitKeys(h.ctx, "bank", "", 10)
			h.must(err, "keys")
			return all[0].Waiting == 3
		})
		h.ends(world.Ack, 0, true, one...)
		h.ends(world.Ack, 0, true, h.comes("ann 4")...)
		h.ends(world.Ack, 0, true, h.comes("ann 2")...)
		h.comes("ann 3")
	})},
	{"a group and a limit", "the first of a group alone stands in line for its place; the order of the group stays", withHeld([]world.SaidLimit{byTo("bank", 1)}, func(h *holding) {
		send := func(group, to string, n int) {
			m := mailOf(to, n)
			m.Group = group
			h.put(m)
		}
		send("g", "ann", 1)
		send("g", "bob", 2)
		send("h", "bob", 3)
		send("h", "ann", 4)
		both := h.comes("ann 1", "bob 3")
		h.comes()
		h.ends(world.Ack, 0, true, both[0])
		h.comes() // the second of g waits for bob's place
		h.ends(world.Ack, 0, true, both[1])
		more := slices.Concat(h.receive(5).Messages, h.receive(5).Messages)
		slices.SortFunc(more, func(a, b world.Message) int { return len(a.Group+a.ID) - len(b.Group+b.ID) })
		h.same(len(more), 2, "the second ones of both")
		h.ends(world.Ack, 0, true, more...)
		h.comes()
		h.stands("bank", "ann", 0, 0)
		h.stands("bank", "bob", 0, 0)
	})},
	{"the first of a group stands in line", "those behind it in the group do not pass it, nor does one that comes back", withHeld([]world.SaidLimit{byTo("bank", 1)}, func(h *holding) {
		h.mail("ann", 0)
		zero := h.comes("ann 0")
		dead := mailOf("bob", 1)
		dead.Group = "g"
		h.put(dead)
		h.ends(world.Bury, 0, true, h.comes("bob 1")...)
		for i, to := range []string{"ann", "bob", "bob"} {
			m := mailOf(to, 2+i)
			m.Group = "g"
			h.put(m)
		}
		h.comes()
		h.comes()
		_, _, err := h.k.RedriveMessages(h.ctx, "q")
		h.must(err, "redrive")
		h.comes()
		h.ends(world.Ack, 0, true, zero...)
		h.ends(world.Ack, 0, true, h.comes("ann 2")...)
		h.ends(world.Ack, 0, true, h.comes("bob 1")...)
		h.ends(world.Ack, 0, true, h.comes("bob 3")...)
		h.ends(world.Ack, 0, true, h.comes("bob 4")...)
	})},
	{"the number for messages is changed", "lowered, 0, raised, what code says; a pause of the queue changes nothing of it", withHeld([]world.SaidLimit{byTo("bank", 2)}, func(h *holding) {
		set := func(n *int) { h.Helper(); h.must(h.l.SetLimit(h.ctx, "bank", n), "set") }
		h.mail("ann", 1, 2, 3, 4, 5, 6)
		got := h.comes("ann 1", "ann 2")
		set(new(1))
		h.ends(world.Ack, 0, true, got[0])
		h.comes()
		set(new(0))
		h.ends(world.Ack, 0, true, got[1])
		h.comes()
		set(new(3))
		got = h.comes("ann 3", "ann 4", "ann 5")
		set(nil)
		h.must(h.k.PauseQueue(h.ctx, "q", &world.QueuePause{Reason: "why"}), "pause")
		h.ends(world.Ack, 0, true, got...)
		h.comes()
		h.must(h.k.PauseQueue(h.ctx, "q", nil), "resume")
		h.comes("ann 6")
	})},
	{"runs and messages stand in one line", "a limit that a workflow and a queue name is one", withHeld([]world.SaidLimit{byTo("bank", 1)}, func(h *holding) {
		h.mail("ann", 1)
		got := h.comes("ann 1")
		k := h.worker("greet")
		run := h.createRun("greet", under("bank/ann:1"))
		h.mail("ann", 2)
		k.idle("a message has the place")
		h.ends(world.Ack, 0, true, got...)
		s := h.limiting.gets(k, "the place is the run's", run)[0].begin()
		h.comes()
		s.append(world.Event{Type: world.RunFailed, Error: &world.Error{Message: "no"}})
		h.until("the place is the message's", func() bool { got = h.receive(5).Messages; return len(got) == 1 })
		h.same(h.shown(got), []string{"ann 2"}, "what was received")
	})},
	{"several places of a message", "they are taken in order; who waits for one holds those before it", withHeld([]world.SaidLimit{byTo("customer", 2), {Name: "all", Number: 2}}, func(h *holding) {
		h.mail("ann", 1, 2, 3)
		h.mail("bob", 4)
		got := h.comes("ann 1", "ann 2")
		h.stands("customer", "ann", 2, 1)
		h.stands("customer", "bob", 1, 0)
		h.stands("all", "", 2, 1)
		h.ends(world.Ack, 0, true, got[0])
		bob := h.comes("bob 4")
		h.ends(world.Ack, 0, true, bob[0], got[1])
		h.comes("ann 3")
	})},
	{"each receive pays", "a rate counts receives of a key, also that behind a death; nobody comes sooner", withHeld([]world.SaidLimit{{Name: "bank", Path: "to", Number: 1, Per: 300 * time.Millisecond}}, func(h *holding) {
		h.mail("ann", 1, 2)
		h.mail("bob", 3)
		var at []time.Time
		next := func(visibility time.Duration) (one world.Message) {
			h.until("it is received", func() bool {
				got, err := h.k.ReceiveMessages(h.ctx, world.ReceiveQuery{Queue: "q", Limit: 1, Visibility: visibility})
				h.must(err, "receive")
				if len(got.Messages) == 0 {
					if got.Next.IsZero() {
						h.Fatalf("nothing is to come, though a rate lets in the next")
					}
					return false
				}
				one = got.Messages[0]
				if shownMail(&one) == "bob 3" {
					h.ends(world.Ack, 0, true, one)
					return false
				}
				at = append(at, got.Now)
				return true
			})
			return one
		}
		next(world.MinVisibility)
		for h.same(shownMail(new(next(time.Minute))), "ann 2", "who comes next"); ; {
			if one := next(time.Minute); shownMail(&one) == "ann 1" {
				break
			}
		}
		if span := at[2].Sub(at[0]); span < 2*300*time.Millisecond-250*time.Millisecond-50*time.Millisecond {
			h.Fatalf("three receives within %s, want two gaps of 300ms, less a quarter of a second", span)
		}
	})},
	{"what a queue is declared to have", "none said: the limits stay; an empty list ends them for what is sent then; what is bad is refused", withHeld([]world.SaidLimit{byTo("bank", 1)}, func(h *holding) {
		h.mail("ann", 1, 2)
		h.declare(world.MessageQueue{Name: "q", MaxReceives: 1000})
		stats, err := h.k.Queues(h.ctx, "q")
		h.must(err, "queues")
		h.same(stats[0].Limits, []world.SaidLimit{byTo("bank", 1)}, "limits")
		h.mail("ann", 3)
		h.comes("ann 1")
		h.limit()
		stats, err = h.k.Queues(h.ctx, "q")
		h.must(err, "queues")
		h.same(stats[0].Limits, []world.SaidLimit{}, "limits")
		h.declare(world.MessageQueue{Name: "plain", Limits: []world.SaidLimit{}})
		stats, err = h.k.Queues(h.ctx, "plain")
		h.must(err, "queues")
		h.same(stats[0].Limits, []world.SaidLimit(nil), "limits of a queue that never had any")
		h.mail("ann", 4)
		h.comes("ann 4")
		h.limit(world.SaidLimit{Name: "code", Number: 1, Computed: true}, byTo("bank", 1))
		for what, bad := range map[string]world.Message{
			"no code":         mailOf("ann", 5),
			"no such field":   {Queue: "q", Payload: []byte(`{"from":"ann"}`), Keys: map[string]string{"code": "x"}},
			"no object":       {Queue: "q", Payload: []byte(`7`), Keys: map[string]string{"code": "x"}},
			"a long key":      {Queue: "q", Payload: []byte(`{"to":"ann"}`), Keys: map[string]string{"code": string(make([]byte, 300))}},
			"a key of no use": {Queue: "q", Payload: []byte(`{"to":"a\u0007"}`), Keys: map[string]string{"code": "x"}},
		} {
			_, err := h.k.SendMessages(h.ctx, []world.Message{bad})
			h.refused(err, world.ErrInvalid, what)
		}
		for what, bad := range map[string][]world.SaidLimit{
			"nobody":            {{Name: "bank", Number: 0, Path: "to"}},
			"until the end":     {{Name: "other", Number: 1, UntilEnd: true}},
			"refusing":          {{Name: "other", Number: 1, Per: time.Second, Refuse: true}},
			"twice":             {byTo("other", 1), byTo("other", 2)},
			"no name":           {{Number: 1}},
			"a bad path":        {{Name: "other", Number: 1, Path: "a..b"}},
			"computed and path": {{Name: "other", Number: 1, Path: "a", Computed: true}},
			"of another scope":  {{Name: "bank", Number: 1, Per: time.Second}},
		} {
			h.refused(h.k.DeclareQueue(h.ctx, world.MessageQueue{Name: "q", Limits: bad}), world.ErrInvalid, what)
		}
		said := mailOf("ann", 6)
		said.Keys = map[string]string{"code": "x", "bank": "eve"}
		h.put(said)
		h.comes("ann 6")
		h.stands("bank", "eve", 1, 0)
	})},
	{"many receivers of a queue with limits", "who receives and ends concurrently has never too many of a key, and all is done", withHeld([]world.SaidLimit{byTo("bank", 2)}, func(h *holding) {
		const each, keys = 12, 4
		for n := range each {
			for k := range keys {
				h.mail(fmt.Sprint("k", k), n)
			}
		}
		var mu sync.Mutex
		out, done := map[string]int{}, 0
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() {
				for {
					mu.Lock()
					over := done == each*keys
					mu.Unlock()
					if over || h.ctx.Err() != nil {
						return
					}
					got, err := h.k.ReceiveMessages(h.ctx, world.ReceiveQuery{Queue: "q", Limit: 3})
					if err != nil {
						h.Errorf("receive: %v", err)
						return
					}
					mu.Lock()
					for i := range got.Messages {
						to, _ := world.KeyAt(got.Messages[i].Payload, "to")
						if out[to]++; out[to] > 2 {
							h.Errorf("%d messages of %s are out", out[to], to)
						}
					}
					mu.Unlock()
					for i := range got.Messages {
						to, _ := world.KeyAt(got.Messages[i].Payload, "to")
						mu.Lock()
						out[to]--
						done++
						mu.Unlock()
						if _, err := h.k.SettleMessages(h.ctx, []world.Settlement{{Receipt: got.Messages[i].Receipt, Kind: world.Ack}}); err != nil {
							h.Errorf("ack: %v", err)
						}
					}
				}
			})
		}
		all.Wait()
		for k := range keys {
			h.stands("bank", fmt.Sprint("k", k), 0, 0)
		}
	})},
}
