// Messages: queues that programs use with no run.

package worldtest

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stepwell/stepwell/world"
)

// messaging is what the checks use of a world's queues.
type messaging struct {
	*rig
	k world.Messenger
}

// withMessages is a check of a world that has queues, with one that is declared: q.
func withMessages(f func(m *messaging)) func(r *rig) {
	return func(r *rig) {
		m := &messaging{r, r.w.Messages()}
		m.declare(world.MessageQueue{Name: "q", MaxReceives: 3})
		f(m)
	}
}

func (m *messaging) declare(q world.MessageQueue) {
	m.Helper()
	m.must(m.k.DeclareQueue(m.ctx, q), "declare queue "+q.Name)
}

// send sends texts to q, each as a message; a text "g:x" is of the group g.
func (m *messaging) send(texts ...string) (ids []string) {
	m.Helper()
	for _, text := range texts {
		group, _, found := strings.Cut(text, ":")
		if !found {
			group = ""
		}
		ids = append(ids, m.put(world.Message{Queue: "q", Payload: quoted(text), Group: group})[0].ID)
	}
	return ids
}

func (m *messaging) put(all ...world.Message) []world.Sent {
	m.Helper()
	sent, err := m.k.SendMessages(m.ctx, all)
	m.must(err, "send messages")
	if len(sent) != len(all) {
		m.Fatalf("sent %d messages, told of %d", len(all), len(sent))
	}
	return sent
}

func quoted(text string) []byte {
	b, _ := json.Marshal(text)
	return b
}

func textOf(m world.Message) string {
	var text string
	_ = json.Unmarshal(m.Payload, &text)
	return text
}

func textsOf(all []world.Message) (texts []string) {
	for _, m := range all {
		texts = append(texts, textOf(m))
	}
	return texts
}

// receive receives up to limit messages of q for a minute.
func (m *messaging) receive(limit int) world.Received {
	m.Helper()
	got, err := m.k.ReceiveMessages(m.ctx, world.ReceiveQuery{Queue: "q", Limit: limit, Visibility: time.Minute})
	m.must(err, "receive")
	for _, x := range got.Messages { // who renews it knows from this when
		if left := x.Until.Sub(got.Now); left <= 0 || left > time.Minute+time.Second {
			m.Fatalf("message %s is out until %s, and it is %s", textOf(x), x.Until, got.Now)
		}
	}
	return got
}

// gets receives, and holds what came to what it should be.
func (m *messaging) gets(limit int, want ...string) []world.Message {
	m.Helper()
	got := m.receive(limit).Messages
	m.same(textsOf(got), want, "what was received")
	return got
}

func (m *messaging) settle(kind world.SettleKind, after time.Duration, all ...world.Message) []bool {
	m.Helper()
	var list []world.Settlement
	for _, x := range all {
		list = append(list, world.Settlement{Receipt: x.Receipt, Kind: kind, After: after, Error: "because"})
	}
	done, err := m.k.SettleMessages(m.ctx, list)
	m.must(err, string(kind))
	return done
}

// ends settles, and holds the receipts to be good or not.
func (m *messaging) ends(kind world.SettleKind, after time.Duration, good bool, all ...world.Message) {
	m.Helper()
	for i, done := range m.settle(kind, after, all...) {
		if done != good {
			m.Fatalf("%s of message %s: %t, want %t", kind, textOf(all[i]), done, good)
		}
	}
}

// states tells of the messages of q in order: text and state.
func (m *messaging) states(want ...string) {
	m.Helper()
	page, err := m.k.PeekMessages(m.ctx, world.PeekQuery{Queue: "q"})
	m.must(err, "peek")
	var got []string
	for _, x := range page.Messages {
		got = append(got, textOf(x)+" "+string(x.State))
	}
	m.same(got, want, "the messages of the queue")
	counts := make(map[world.MessageState]int64)
	for _, x := range page.Messages {
		counts[x.State]++
	}
	stats, err := m.k.Queues(m.ctx, "q")
	m.must(err, "queues")
	if len(stats) != 1 {
		m.Fatalf("%d queues are named q", len(stats))
	}
	for state, n := range counts {
		if stats[0].Counts[state] != n {
			m.Errorf("%d messages are counted as %s, want %d", stats[0].Counts[state], state, n)
		}
	}
	if stats[0].Oldest.IsZero() != (counts[world.MessageReady] == 0) {
		m.Errorf("the oldest of %d that are ready is since %s", counts[world.MessageReady], stats[0].Oldest)
	}
}

var messages = []check{
	{"a message is received and settled", "a message that was sent is received until it is acknowledged", withMessages(func(m *messaging) {
		ids := m.send("a", "b")
		page, err := m.k.PeekMessages(m.ctx, world.PeekQuery{Queue: "q"})
		m.must(err, "peek")
		m.same([]string{page.Messages[0].ID, page.Messages[1].ID}, ids, "the IDs of what was sent")
		got := m.gets(1, "a")
		if x := got[0]; x.ID != ids[0] || x.Queue != "q" || x.Receives != 1 || x.Receipt == "" || x.Priority != world.DefaultPriority || !x.Until.After(x.SentAt.Add(50*time.Second)) {
			m.Errorf("received %+v", x)
		}
		m.states("a out", "b ready")
		m.gets(5, "b")
		m.gets(5)
		m.ends(world.Ack, 0, true, got...)
		m.ends(world.Ack, 0, false, got...)
		m.states("b out")
	})},
	{"what is sent with a message comes with it", "payload, headers and order are what the sender said", withMessages(func(m *messaging) {
		h := map[string]string{"traceparent": "00-1", "k": "v"}
		m.declare(world.MessageQueue{Name: "groups"})
		m.put(world.Message{Queue: "q", Payload: []byte(`0`), Priority: 1}, world.Message{Queue: "q", Payload: []byte(`{"n":1}`), Headers: h},
			world.Message{Queue: "q", Payload: []byte(`2`), Priority: 4}, world.Message{Queue: "q", Payload: []byte(`"2"`), Priority: 2}, world.Message{Queue: "q", Payload: []byte(`3`), Priority: 3})
		var got []string
		for _, x := range m.receive(9).Messages {
			got = append(got, string(x.Payload)+" "+strconv.Itoa(len(x.Headers)))
			if len(x.Headers) > 0 && x.Headers["k"] != "v" {
				m.Errorf("headers %v", x.Headers)
			}
		}
		m.same(got, []string{"2 0", "3 0", `{"n":1} 2`, `"2" 0`, "0 0"}, "what came, by priority: none is 2")
		m.put(world.Message{Queue: "groups", Payload: []byte(`1`), Group: "g"})
		grouped, err := m.k.ReceiveMessages(m.ctx, world.ReceiveQuery{Queue: "groups", Limit: 9})
		m.must(err, "receive")
		m.same(grouped.Messages[0].Priority, world.DefaultPriority, "the priority of a group's message")
	})},
	{"a message that is given back comes again", "a nack ends a receive, and what was given back is received after its delay", withMessages(func(m *messaging) {
		m.send("a")
		got := m.gets(1, "a")
		m.ends(world.Nack, 0, true, got...)
		m.ends(world.Ack, 0, false, got...)
		again := m.gets(1, "a")
		if again[0].Receives != 2 || again[0].Error != "because" {
			m.Errorf("received again: %+v", again[0])
		}
		m.ends(world.Unread, 0, true, again...)
		if again = m.gets(1, "a"); again[0].Receives != 2 || again[0].Error != "because" {
			m.Errorf("received after one that nobody looked at: %+v", again[0])
		}
		m.ends(world.Nack, time.Hour, true, again...)
		m.states("a delayed")
		m.until("the next look, with one that is ready in an hour, is due then", func() bool {
			r := m.receive(1)
			if len(r.Messages) > 0 || r.More || r.Next.IsZero() || time.Until(r.Next) > 70*time.Minute {
				m.Errorf("with one that is ready in an hour: %+v", r)
			}
			return time.Until(r.Next) > 50*time.Minute
		})
	})},
	{"a receive that was not ended ends by itself", "when its visibility is over a message is received again, and the receipt of the first receive holds no longer", withMessages(func(m *messaging) {
		m.send("a", "g:1", "g:2")
		short := world.ReceiveQuery{Queue: "q", Limit: 9, Visibility: world.MinVisibility}
		first, err := m.k.ReceiveMessages(m.ctx, short)
		m.must(err, "receive")
		m.same(len(first.Messages), 2, "messages received")
		late := first.Messages
		m.ends(world.Extend, time.Minute, true, late[1])
		var second world.Received
		m.until("what was received is ready again", func() bool {
			second = m.receive(9)
			return len(second.Messages) > 0
		})
		m.same(textsOf(second.Messages), []string{textOf(late[0])}, "what came again")
		m.ends(world.Ack, 0, false, late[0])
		m.ends(world.Ack, 0, true, second.Messages...)
		m.ends(world.Ack, 0, true, late[1])
	})},
	{"a receive that is over in time is ended late", "who comes late ends a receive still, as long as nobody has received the message anew", withMessages(func(m *messaging) {
		m.send("a")
		got, err := m.k.ReceiveMessages(m.ctx, world.ReceiveQuery{Queue: "q", Limit: 1, Visibility: world.MinVisibility})
		m.must(err, "receive")
		m.until("it is ready again", func() bool {
			s, err := m.k.Queues(m.ctx, "q")
			return err == nil && s[0].Counts[world.MessageReady] == 1
		})
		m.ends(world.Ack, 0, true, got.Messages...)
		m.states()
	})},
	{"what is received too often is a dead letter", "after MaxReceives a message is set aside, and holds up nobody", withMessages(func(m *messaging) {
		m.send("g:1", "g:2", "a")
		for range 3 {
			got := m.receive(9).Messages
			texts := textsOf(got)
			slices.Sort(texts)
			m.same(texts, []string{"a", "g:1"}, "what was received")
			m.ends(world.Nack, 0, true, got...)
		}
		m.same(len(m.receive(9).Messages) <= 1, true, "of those that were received three times none comes")
		m.until("the next of the group", func() bool {
			m.receive(9)
			s, err := m.k.Queues(m.ctx, "q")
			return err == nil && s[0].Counts[world.MessageOut] == 1
		})
		m.states("g:1 dead", "g:2 out", "a dead")
		n, more, err := m.k.RedriveMessages(m.ctx, "q")
		m.must(err, "redrive")
		m.same(fmt.Sprint(n, more), "2 false", "redriven")
		m.gets(9, "a")
		m.states("g:1 parked", "g:2 out", "a out")
	})},
	{"a dead letter has one receipt less", "the receipt of a receive that became a dead letter, or was redriven, ends nothing", withMessages(func(m *messaging) {
		m.send("g:1", "g:2")
		got := m.gets(9, "g:1")
		m.ends(world.Bury, 0, true, got...)
		m.states("g:1 dead", "g:2 ready")
		next := m.gets(9, "g:2")
		for _, kind := range []world.SettleKind{world.Ack, world.Nack, world.Bury} {
			m.ends(kind, 0, false, got...)
		}
		m.ends(world.Extend, time.Minute, false, got...)
		_, _, err := m.k.RedriveMessages(m.ctx, "q", got[0].ID)
		m.must(err, "redrive")
		m.ends(world.Ack, 0, false, got...)
		m.ends(world.Ack, 0, true, next...)
		again := m.gets(9, "g:1")
		if again[0].Receives != 1 || again[0].Receipt == got[0].Receipt {
			m.Errorf("redriven: %+v", again[0])
		}
		m.ends(world.Ack, 0, false, got...)
		m.ends(world.Ack, 0, true, again...)
		m.states()
	})},
	{"dead letters come back into a group", "whatever of a group is buried, redriven and given back: one is out, and all are received in the end", withMessages(func(m *messaging) {
		m.declare(world.MessageQueue{Name: "q", MaxReceives: 100})
		redrive := func(x world.Message) {
			m.Helper()
			n, _, err := m.k.RedriveMessages(m.ctx, "q", x.ID)
			m.must(err, "redrive")
			m.same(n, 1, "redriven")
		}
		m.send("g:1", "g:2", "g:3")
		one := m.gets(9, "g:1")
		m.ends(world.Bury, 0, true, one...)
		two := m.gets(9, "g:2")
		m.ends(world.Bury, 0, true, two...)
		three := m.gets(9, "g:3")
		redrive(one[0])
		m.gets(9)
		m.ends(world.Nack, 0, true, three...)
		redrive(two[0])
		m.send("g:4")
		got := make(map[string]bool)
		m.until("all are received", func() bool {
			all := m.receive(9).Messages
			if len(all) > 1 {
				m.Errorf("%v are out at once", textsOf(all))
			}
			for _, x := range all {
				got[textOf(x)] = true
				m.ends(world.Ack, 0, true, x)
			}
			return len(got) == 4
		})
		m.states()
	})},
	{"of a group one is out", "messages of a group are received one at a time, in the order in which they were sent, and groups do not wait for each other", withMessages(func(m *messaging) {
		m.send("g:1", "g:2", "h:1", "g:3", "h:2", "a")
		got := m.receive(9).Messages
		texts := textsOf(got)
		slices.Sort(texts)
		m.same(texts, []string{"a", "g:1", "h:1"}, "the first of each")
		m.gets(9)
		m.states("g:1 out", "g:2 parked", "h:1 out", "g:3 parked", "h:2 parked", "a out")
		for _, x := range got {
			switch textOf(x) {
			case "g:1":
				m.ends(world.Ack, 0, true, x)
			case "h:1":
				m.ends(world.Nack, time.Hour, true, x)
			}
		}
		second := m.gets(9, "g:2")
		m.ends(world.Nack, 0, true, second...)
		m.gets(9, "g:2")
		m.gets(9)
	})},
	{"a delay and a priority", "a message with a delay is not received before; what was sent is told of at once", withMessages(func(m *messaging) {
		m.put(world.Message{Queue: "q", Payload: quoted("later"), Delay: time.Hour})
		r := m.receive(1)
		if len(r.Messages) > 0 || r.More || time.Until(r.Next) < 50*time.Minute {
			m.Errorf("received %+v", r)
		}
		m.states("later delayed")
		m.put(world.Message{Queue: "q", Payload: quoted("soon"), Delay: 20 * time.Millisecond})
		m.until("it is due", func() bool { return len(m.receive(1).Messages) == 1 })
	})},
	{"a dedupe ID", "within its window a message with a known dedupe ID is the one that was sent before", withMessages(func(m *messaging) {
		m.declare(world.MessageQueue{Name: "other"})
		one := world.Message{Queue: "q", Payload: quoted("a"), Dedupe: "d", Window: time.Minute}
		first := m.put(one)[0]
		other := one
		other.Queue = "other"
		sent := m.put(one, other)
		if first.Duplicate || !sent[0].Duplicate || sent[0].ID != first.ID || sent[1].Duplicate {
			m.Errorf("first %+v, then %+v", first, sent)
		}
		m.ends(world.Ack, 0, true, m.gets(9, "a")...)
		if again := m.put(one)[0]; !again.Duplicate || again.ID != first.ID {
			m.Errorf("after the ack: %+v", again)
		}
		short := world.Message{Queue: "q", Payload: quoted("b"), Dedupe: "e", Window: time.Millisecond}
		m.put(short)
		m.until("its window is over", func() bool { return !m.put(short)[0].Duplicate })
		_, err := m.w.Sweep(m.ctx, 10) // what is swept is what need not be known
		m.must(err, "sweep")
		if again := m.put(one)[0]; !again.Duplicate {
			m.Errorf("after a sweep: %+v", again)
		}
	})},
	{"a conditional receive", "with a match only what contains it is received, and the rest stays as it is", withMessages(func(m *messaging) {
		m.put(world.Message{Queue: "q", Payload: []byte(`{"to":"a","n":1}`)}, world.Message{Queue: "q", Payload: []byte(`{"to":"b","n":2}`)}, world.Message{Queue: "q", Payload: []byte(`{"to":"b","n":3}`), Group: "g"})
		got, err := m.k.ReceiveMessages(m.ctx, world.ReceiveQuery{Queue: "q", Limit: 9, Visibility: time.Minute, Match: []byte(`{"to":"b"}`)})
		if errors.Is(err, world.ErrInvalid) { // a world that cannot look into payloads says so, and receives nothing
			m.same(len(m.receive(9).Messages), 3, "received by no match")
			return
		}
		m.must(err, "receive")
		m.same(len(got.Messages), 2, "received")
		rest := m.receive(9).Messages
		if len(rest) != 1 || string(rest[0].Payload) != `{"to":"a","n":1}` || rest[0].Receives != 1 {
			m.Errorf("the rest: %+v", rest)
		}
	})},
	{"a queue that is paused", "nothing is received from a paused queue; it takes messages and settlements", withMessages(func(m *messaging) {
		m.send("a")
		got := m.gets(1, "a")
		m.must(m.k.PauseQueue(m.ctx, "q", &world.QueuePause{By: "me", Reason: "bank is away"}), "pause")
		m.send("b")
		m.gets(9)
		m.ends(world.Ack, 0, true, got...)
		m.declare(world.MessageQueue{Name: "q"})
		s, err := m.k.Queues(m.ctx)
		m.must(err, "queues")
		if p := s[0].Paused; p == nil || p.By != "me" || p.Reason != "bank is away" {
			m.Errorf("paused: %+v", p)
		}
		for _, bad := range []world.QueuePause{{Reason: strings.Repeat("x", world.MaxReason+1)}, {Reason: "\xff"}, {By: strings.Repeat("x", world.MaxBy+1)}, {By: "a\nb"}} {
			m.refused(m.k.PauseQueue(m.ctx, "q", &bad), world.ErrInvalid, "a pause with a bad text")
		}
		m.must(m.k.PauseQueue(m.ctx, "q", nil), "resume")
		m.gets(9, "b")
	})},
	{"a queue is purged and dropped", "a purge deletes what is there, out or not; a queue with messages is not dropped", withMessages(func(m *messaging) {
		m.send("a", "g:1", "g:2", "b")
		out := m.gets(1, "a")
		m.ends(world.Bury, 0, true, out...)
		m.refused(m.k.DropQueue(m.ctx, "q"), world.ErrConflict, "drop a queue with messages")
		n, more, err := m.k.PurgeMessages(m.ctx, "q", true)
		m.must(err, "purge dead letters")
		m.same(fmt.Sprint(n, more), "1 false", "purged of dead letters")
		held := m.receive(9).Messages
		n, _, err = m.k.PurgeMessages(m.ctx, "q", false)
		m.must(err, "purge")
		m.same(n, 3, "purged")
		for _, x := range held {
			m.ends(world.Ack, 0, false, x)
		}
		m.send("g:3")
		m.ends(world.Ack, 0, true, m.gets(9, "g:3")...)
		m.must(m.k.DropQueue(m.ctx, "q"), "drop")
		_, err = m.k.ReceiveMessages(m.ctx, world.ReceiveQuery{Queue: "q", Limit: 1})
		m.refused(err, world.ErrNotFound, "receive from one that is gone")
	})},
	{"receipts of other queues", "who settles messages of queues whose names begin in a way settles no others", withMessages(func(m *messaging) {
		m.send("a", "b", "g:c", "d", "e")
		all := m.receive(5).Messages
		slices.SortFunc(all, func(a, b world.Message) int { return strings.Compare(textOf(a), textOf(b)) })
		m.same(textsOf(all), []string{"a", "b", "d", "e", "g:c"}, "what was received")
		settle := func(queues string, good bool, kinds ...world.SettleKind) {
			var list []world.Settlement
			for i, kind := range kinds {
				list = append(list, world.Settlement{Receipt: all[i].Receipt, Kind: kind, Queues: queues, After: time.Minute})
				if kind == world.Ack || kind == world.Bury {
					list[i].After = 0
				}
			}
			done, err := m.k.SettleMessages(m.ctx, list)
			m.must(err, "settle")
			m.same(fmt.Sprint(done), fmt.Sprint(slices.Repeat([]bool{good}, len(kinds))), "settled in queues that begin with "+queues)
		}
		settle("r", false, world.Ack, world.Ack, world.Bury, world.Nack, world.Extend)
		settle("qq", false, world.Unread, world.Ack, world.Ack, world.Bury, world.Ack)
		m.states("a out", "b out", "g:c out", "d out", "e out")
		settle("q", true, world.Ack, world.Nack, world.Extend, world.Bury, world.Ack)
		m.states("b delayed", "d out", "e dead")
	})},
	{"bad messages are refused", "bad input gets a clear error and changes nothing; of several messages none is sent", withMessages(func(m *messaging) {
		good := world.Message{Queue: "q", Payload: []byte(`1`)}
		for what, bad := range map[string]world.Message{
			"no JSON": {Queue: "q", Payload: []byte(`{`)}, "a bad name": {Queue: "q q", Payload: []byte(`1`)}, "a delay below 0": {Queue: "q", Payload: []byte(`1`), Delay: -1},
			"a priority": {Queue: "q", Payload: []byte(`1`), Priority: 5}, "a group with a delay": {Queue: "q", Payload: []byte(`1`), Group: "g", Delay: time.Second},
			"a group with control characters": {Queue: "q", Payload: []byte(`1`), Group: "g\n"}, "a header without a name": {Queue: "q", Payload: []byte(`1`), Headers: map[string]string{"": "x"}},
			"a window of years": {Queue: "q", Payload: []byte(`1`), Dedupe: "d", Window: 1e9 * time.Second},
		} {
			_, err := m.k.SendMessages(m.ctx, []world.Message{good, bad})
			m.refused(err, world.ErrInvalid, what)
		}
		_, err := m.k.SendMessages(m.ctx, []world.Message{good, {Queue: "q", Payload: quoted(strings.Repeat("x", 2<<20))}})
		m.refused(err, world.ErrTooLarge, "a large payload")
		_, err = m.k.SendMessages(m.ctx, []world.Message{good, {Queue: "nobody", Payload: []byte(`1`)}})
		m.refused(err, world.ErrNotFound, "a queue that was not declared")
		_, err = m.k.SendMessages(m.ctx, []world.Message{{Queue: "q", Payload: []byte(`1`), Dedupe: "d"}, {Queue: "q", Payload: []byte(`1`), Dedupe: "d"}})
		m.refused(err, world.ErrInvalid, "one dedupe ID twice at once")
		m.states()
		for _, q := range []world.ReceiveQuery{{Queue: "q"}, {Queue: "q", Limit: 101}, {Queue: "q", Limit: 1, Visibility: time.Millisecond}, {Queue: "q", Limit: 1, Match: []byte(`{`)}} {
			_, err := m.k.ReceiveMessages(m.ctx, q)
			m.refused(err, world.ErrInvalid, fmt.Sprintf("receive %+v", q))
		}
		for _, s := range []world.Settlement{{Receipt: "x", Kind: world.Ack}, {Receipt: world.Receipt(1, 1), Kind: "?"}, {Receipt: world.Receipt(1, 1), Kind: world.Extend}, {Receipt: world.Receipt(1, 1), Kind: world.Nack, After: -1}, {Receipt: world.Receipt(1, 1), Kind: world.Ack, Queues: "q q"}} {
			_, err := m.k.SettleMessages(m.ctx, []world.Settlement{s})
			m.refused(err, world.ErrInvalid, fmt.Sprintf("settle %+v", s))
		}
		m.ends(world.Ack, 0, false, world.Message{Receipt: world.Receipt(1<<40, 1)})
		m.refused(m.k.DeclareQueue(m.ctx, world.MessageQueue{Name: "x", Visibility: time.Millisecond}), world.ErrInvalid, "a short visibility")
		_, err = m.k.PeekMessages(m.ctx, world.PeekQuery{Queue: "q", Cursor: "x"})
		m.refused(err, world.ErrInvalid, "a bad cursor")
	})},
	{"pages of messages", "a list is read to its end under its cursor", withMessages(func(m *messaging) {
		var want, got []string
		for i := range 7 {
			want = append(want, m.send(strconv.Itoa(i))...)
		}
		for cursor, pages := "", 0; ; pages++ {
			page, err := m.k.PeekMessages(m.ctx, world.PeekQuery{Queue: "q", Limit: 3, Cursor: cursor})
			m.must(err, "peek")
			for _, x := range page.Messages {
				got = append(got, x.ID)
			}
			if cursor = page.Cursor; cursor == "" || pages > 9 {
				break
			}
		}
		m.same(got, want, "what was read in pages")
	})},
	{"many receive at once", "each message has its effect once where receipts are kept to, groups are in order with one out, and nothing is left over", withMessages(func(m *messaging) {
		m.declare(world.MessageQueue{Name: "q", MaxReceives: 1000})
		const senders, each, receivers = 4, 40, 4
		var left atomic.Int64
		left.Store(senders * each)
		var mu sync.Mutex
		acked, last, outs := make(map[string]bool), make(map[string]int), make(map[string]string)
		var all sync.WaitGroup
		for s := range senders {
			all.Go(func() {
				for i := range each {
					group := ""
					if i%4 != 0 {
						group = fmt.Sprintf("%d-%d", s, i%3)
					}
					if _, err := m.k.SendMessages(m.ctx, []world.Message{{Queue: "q", Payload: quoted(fmt.Sprintf("%s/%d/%d", group, s, i)), Group: group}}); err != nil {
						m.Errorf("send: %v", err)
						left.Add(-1)
					}
				}
			})
		}
		end := time.Now().Add(patience)
		for n := range receivers {
			all.Go(func() {
				draw := rand.New(rand.NewPCG(uint64(n), 1))
				for left.Load() > 0 && time.Now().Before(end) {
					got, err := m.k.ReceiveMessages(m.ctx, world.ReceiveQuery{Queue: "q", Limit: 1 + draw.IntN(5), Visibility: time.Minute})
					if err != nil {
						m.Errorf("receive: %v", err)
						return
					}
					for _, x := range got.Messages {
						group, i := x.Group, 0
						_, _ = fmt.Sscanf(textOf(x)[strings.LastIndex(textOf(x), "/")+1:], "%d", &i)
						mu.Lock()
						if group != "" {
							if other, out := outs[group]; out {
								m.Errorf("group %s: %s is out beside %s", group, textOf(x), other)
							}
							if i < last[group] {
								m.Errorf("group %s: %d came behind %d", group, i, last[group])
							}
							outs[group], last[group] = textOf(x), i
						}
						mu.Unlock()
						kind := world.Ack
						if draw.IntN(4) == 0 {
							kind = world.Nack
						}
						mu.Lock()
						delete(outs, group)
						if kind == world.Ack {
							if acked[x.ID] {
								m.Errorf("message %s was acknowledged twice", textOf(x))
							}
							acked[x.ID] = true
						}
						mu.Unlock()
						done, err := m.k.SettleMessages(m.ctx, []world.Settlement{{Receipt: x.Receipt, Kind: kind}})
						if err != nil || !done[0] {
							m.Errorf("%s of %s: %v %v", kind, textOf(x), done, err)
						}
						if kind == world.Ack {
							left.Add(-1)
						}
					}
				}
			})
		}
		all.Wait()
		m.same(left.Load(), int64(0), "messages that were not acknowledged")
		m.states()
	})},
}
