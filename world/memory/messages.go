// Queues of messages.

package memory

import (
	"cmp"
	"container/heap"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/rules"
)

// messages are the queues of a World, under its lock.
type messages struct {
	w      *World // its lock is theirs
	queues map[string]*messageQueue
	last   int64   // number of the last message
	news   notices // of this call
	all    map[int64]*message
}

// messageQueue is one queue. Of a group only the first message can be received: the others are in no heap.
type messageQueue struct {
	world.MessageQueue
	paused  *world.QueuePause
	line    [rules.Priorities]messageHeap // those that can be received now or later, by that time
	groups  map[string][]*message         // that are not dead, in order
	heads   map[string]*message           // of each group the one that is in line
	all     map[int64]*message
	dedupes map[string]dedupe
}

type dedupe struct {
	id    string
	until time.Time
}

type message struct {
	world.Message
	queue   *messageQueue
	number  int64
	visible time.Time
	fence   int64 // how often it was received, whatever became of Receives
	held    bool
	dead    bool
	place   int // in its heap; -1: in none

	placed *placed // nil: it needs no places
	entry  entry   // in the line of one
}

var _ world.Messenger = (*messages)(nil)

// Messages returns the store of queues; see [world.World].
func (w *World) Messages() world.Messenger { return &w.messages }

// leave unlocks the World, and tells what is new.
func (k *messages) leave() {
	told := k.news
	k.news.list = nil
	k.w.mu.Unlock()
	k.w.tell(&told)
}

func (k *messages) find(name string) (*messageQueue, error) {
	q := k.queues[name]
	if q == nil {
		return nil, world.NoQueue(name)
	}
	return q, nil
}

// DeclareQueue makes a queue, or changes it; see [world.Messenger].
func (k *messages) DeclareQueue(ctx context.Context, q world.MessageQueue) error {
	if err := world.CheckQueue(&q); err != nil {
		return err
	}
	if err := k.w.enter(ctx); err != nil {
		return err
	}
	defer k.leave()
	if err := k.w.limits.may(q.Limits); err != nil {
		return fmt.Errorf("queue %s: %w", q.Name, err)
	}
	k.w.limits.say(q.Says(), &k.news)
	k.declare(q)
	return nil
}

func (k *messages) declare(q world.MessageQueue) {
	if k.queues == nil {
		k.queues, k.all = make(map[string]*messageQueue), make(map[int64]*message)
	}
	if k.queues[q.Name] == nil {
		k.queues[q.Name] = &messageQueue{groups: make(map[string][]*message), heads: make(map[string]*message), all: make(map[int64]*message), dedupes: make(map[string]dedupe)}
	}
	if is := k.queues[q.Name].Limits; q.Limits == nil || len(q.Limits) == 0 && is == nil {
		q.Limits = k.queues[q.Name].Limits
	}
	k.queues[q.Name].MessageQueue = q.Or()
}

// PauseQueue pauses a queue, or ends that; see [world.Messenger].
func (k *messages) PauseQueue(ctx context.Context, queue string, pause *world.QueuePause) error {
	if err := world.CheckPause(pause); err != nil {
		return fmt.Errorf("queue %.140s: %w", queue, err)
	}
	if err := k.w.enter(ctx); err != nil {
		return err
	}
	defer k.leave()
	q, err := k.find(queue)
	if err != nil {
		return err
	}
	q.paused = pause
	if pause == nil {
		k.news.add(world.NoticeMessage, queue)
	}
	return nil
}

// DropQueue deletes an empty queue; see [world.Messenger].
func (k *messages) DropQueue(ctx context.Context, queue string) error {
	if err := k.w.enter(ctx); err != nil {
		return err
	}
	defer k.leave()
	q, err := k.find(queue)
	switch {
	case err != nil:
		return err
	case len(q.all) > 0:
		return world.QueueNotEmpty(queue)
	}
	if err := world.QueueFilled(queue, k.w.topics.standing); err != nil {
		return err
	}
	delete(k.queues, queue)
	return nil
}

// Queues tells of queues; see [world.Messenger].
func (k *messages) Queues(ctx context.Context, names ...string) ([]world.QueueStats, error) {
	if err := k.w.enter(ctx); err != nil {
		return nil, err
	}
	defer k.leave()
	if len(names) == 0 {
		names = slices.Collect(maps.Keys(k.queues))
	}
	slices.Sort(names)
	now := k.w.now()
	var out []world.QueueStats
	for _, name := range slices.Compact(names) {
		q := k.queues[name]
		if q == nil {
			continue
		}
		s := world.QueueStats{MessageQueue: q.MessageQueue, Paused: q.paused, Counts: make(map[world.MessageState]int64)}
		for _, m := range q.all {
			state := m.state(now)
			if s.Counts[state] < world.CountedMessages {
				s.Counts[state]++
			}
			if state == world.MessageReady && (s.Oldest.IsZero() || m.visible.Before(s.Oldest)) {
				s.Oldest = m.visible
			}
		}
		out = append(out, s)
	}
	return out, nil
}

// SendMessages puts messages into queues; see [world.Messenger].
func (k *messages) SendMessages(ctx context.Context, all []world.Message) ([]world.Sent, error) {
	if err := world.CheckMessages(all); err != nil {
		return nil, err
	}
	if err := k.w.enter(ctx); err != nil {
		return nil, err
	}
	defer k.leave()
	for i := range all {
		q, err := k.find(all[i].Queue)
		if err == nil {
			_, err = world.MessagePlaces(q.Limits, &all[i])
		}
		if err != nil {
			return nil, err
		}
	}
	now := k.w.now()
	sent := make([]world.Sent, len(all))
	for i := range all {
		q := k.queues[all[i].Queue]
		if d, known := q.dedupes[all[i].Dedupe]; known && d.until.After(now) {
			sent[i] = world.Sent{ID: d.id, Duplicate: true}
			continue
		}
		m := k.put(q, &all[i], now)
		sent[i].ID = m.ID
		if m.Dedupe != "" {
			q.dedupes[m.Dedupe] = dedupe{m.ID, now.Add(cmp.Or(m.Window, world.DefaultWindow))}
		}
		k.news.add(world.NoticeMessage, q.Name)
	}
	return sent, nil
}

func (k *messages) put(q *messageQueue, sent *world.Message, now time.Time) *message {
	k.last++
	m := &message{Message: *sent, queue: q, number: k.last, visible: now.Add(sent.Delay), place: -1}
	m.ID, m.SentAt = world.MessageID(now, m.number), now
	m.Payload, m.Headers = slices.Clone(m.Payload), maps.Clone(m.Headers)
	k.all[m.number], q.all[m.number] = m, m
	m.Ranked(m.Rank())
	like := *sent
	like.Keys = world.KeysElsewhere(sent.Keys) // who could refuse it has asked
	places, _ := world.MessagePlaces(q.Limits, &like)
	if m.placed, m.entry = k.w.limits.needs(places, world.SaidLimit{Messages: true}), (entry{order: m.number, message: m}); m.Group != "" || m.Delay > 0 || k.seek(m) {
		q.lineUp(m)
	}
	return m
}

// seek has a message take its places. False: it stands in line.
func (k *messages) seek(m *message) bool {
	return m.placed == nil || k.w.limits.seekEntry(&m.entry, &k.news)
}

// lineUp puts a message where it can be received from. Of a group only the head is there: the first, unless
// another is out.
func (q *messageQueue) lineUp(m *message) {
	if m.Group == "" {
		heap.Push(&q.line[m.Rank()], m)
		return
	}
	at, _ := slices.BinarySearchFunc(q.groups[m.Group], m.number, func(x *message, n int64) int { return cmp.Compare(x.number, n) })
	q.groups[m.Group] = slices.Insert(q.groups[m.Group], at, m)
	switch head := q.heads[m.Group]; {
	case head == nil:
	case head.held || head.place < 0 || head.number < m.number: // below 0: it stands in line for a place
		return
	default:
		heap.Remove(&q.line[head.Rank()], head.place)
	}
	q.heads[m.Group] = m
	heap.Push(&q.line[m.Rank()], m)
}

// leave takes a message from its line and its group, whose next one follows.
func (q *messageQueue) leave(m *message, now time.Time) {
	if m.place >= 0 {
		heap.Remove(&q.line[m.Rank()], m.place)
	}
	if m.Group == "" || m.dead {
		return
	}
	rest := slices.DeleteFunc(q.groups[m.Group], func(x *message) bool { return x == m })
	q.groups[m.Group] = rest
	if q.heads[m.Group] != m {
		return
	}
	delete(q.heads, m.Group)
	if len(rest) == 0 {
		delete(q.groups, m.Group)
		return
	}
	rest[0].visible = now
	q.heads[m.Group] = rest[0]
	heap.Push(&q.line[rest[0].Rank()], rest[0])
}

func (k *messages) remove(m *message, now time.Time) {
	m.queue.leave(m, now)
	if m.placed != nil {
		k.w.limits.restEntry(&m.entry, &k.news)
		k.w.limits.leave(m.placed.Keys)
	}
	delete(m.queue.all, m.number)
	delete(k.all, m.number)
}

func (k *messages) bury(m *message, now time.Time) {
	m.queue.leave(m, now)
	m.dead, m.held = true, false
	if m.placed != nil {
		k.w.limits.restEntry(&m.entry, &k.news)
	}
}

// ReceiveMessages receives what is ready; see [world.Messenger].
func (k *messages) ReceiveMessages(ctx context.Context, rq world.ReceiveQuery) (out world.Received, err error) {
	if err := world.CheckReceive(&rq); err != nil {
		return out, err
	}
	if err := k.w.enter(ctx); err != nil {
		return out, err
	}
	defer k.leave()
	now := k.w.now()
	out.Now = now
	q, err := k.find(rq.Queue)
	if err != nil || q.paused != nil {
		return out, err
	}
	if q.Limits != nil {
		k.w.limits.wake(&k.news)
		defer k.w.limits.shut()
	}
	visibility := cmp.Or(rq.Visibility, q.Visibility)
	seen := 0
	for p := len(q.line) - 1; p >= 0; p-- {
		var passed []*message
		line := &q.line[p]
		for line.Len() > 0 && !(*line)[0].visible.After(now) && len(out.Messages) < rq.Limit && (rq.Match == nil || seen < world.Scanned) {
			m := heap.Pop(line).(*message)
			seen++
			switch {
			case rq.Match != nil && !world.Contains(m.Payload, rq.Match):
				passed = append(passed, m)
				continue
			case m.Receives >= q.MaxReceives:
				k.bury(m, now)
				out.Dead++
				continue
			case !k.seek(m):
				continue
			}
			if m.placed != nil {
				k.w.limits.payEntry(&m.entry, &k.news)
			}
			m.Receives++
			m.fence++
			m.held, m.visible = true, now.Add(visibility)
			heap.Push(line, m)
			shown := m.shown(now)
			m.Error = "" // who receives it next is told what this one said
			shown.Receipt = world.Receipt(m.number, m.fence)
			out.Messages = append(out.Messages, shown)
		}
		for _, m := range passed {
			heap.Push(line, m)
		}
		if line.Len() == 0 {
			continue
		}
		if first := (*line)[0].visible; !first.After(now) {
			out.More = true
		} else if out.Next.IsZero() || first.Before(out.Next) {
			out.Next = first
		}
	}
	if next := k.w.limits.next(); q.Limits != nil && !next.IsZero() && (out.Next.IsZero() || next.Before(out.Next)) {
		out.Next = next
	}
	return out, nil
}

// held is the message that a receipt holds, or nil.
func (k *messages) held(receipt string) *message {
	number, fence, _ := world.ReadReceipt(receipt)
	if m := k.all[number]; m != nil && m.held && m.fence == fence {
		return m
	}
	return nil
}

func (k *messages) holds(receipt string) bool { return k.held(receipt) != nil }

// ack deletes the message of a birth; "" is none.
func (k *messages) ack(receipt string, n *notices) {
	if receipt != "" {
		m := k.held(receipt)
		k.remove(m, k.w.now())
		n.add(world.NoticeMessage, m.Queue)
		k.handNews(n)
	}
}

// handNews has others tell what is new.
func (k *messages) handNews(n *notices) {
	n.list = append(n.list, k.news.list...)
	k.news.list = nil
}

// SettleMessages ends receives; see [world.Messenger].
func (k *messages) SettleMessages(ctx context.Context, all []world.Settlement) ([]bool, error) {
	if err := world.CheckSettlements(all); err != nil {
		return nil, err
	}
	if err := k.w.enter(ctx); err != nil {
		return nil, err
	}
	defer k.leave()
	now := k.w.now()
	done := make([]bool, len(all))
	for i := range all {
		s := &all[i]
		m := k.held(s.Receipt)
		if m == nil || !strings.HasPrefix(m.Queue, s.Queues) {
			continue
		}
		done[i] = true
		if s.Error != "" {
			m.Error = s.Error
		}
		switch s.Kind {
		case world.Ack:
			k.remove(m, now)
		case world.Bury:
			k.bury(m, now)
		case world.Unread:
			m.Receives--
			fallthrough
		case world.Nack:
			m.held = false
			if m.placed != nil {
				k.w.limits.restEntry(&m.entry, &k.news)
			}
			fallthrough
		case world.Extend:
			if m.visible = now.Add(s.After); m.place >= 0 {
				heap.Fix(&m.queue.line[m.Rank()], m.place)
				break
			}
			if m.placed.Parked { // its visibility had ended, and it stood in line for a rate
				m.placed.Parked = false
				m.entry.move(nil, 0)
			}
			heap.Push(&m.queue.line[m.Rank()], m)
		}
		k.news.add(world.NoticeMessage, m.Queue)
	}
	return done, nil
}

// PeekMessages looks at messages; see [world.Messenger].
func (k *messages) PeekMessages(ctx context.Context, pq world.PeekQuery) (page world.MessagePage, err error) {
	behind, err := world.CheckPeek(&pq)
	if err != nil {
		return page, err
	}
	if err := k.w.enter(ctx); err != nil {
		return page, err
	}
	defer k.leave()
	q, err := k.find(pq.Queue)
	if err != nil {
		return page, err
	}
	now, numbers := k.w.now(), slices.Sorted(maps.Keys(q.all))
	err = rules.PeekPage(&page, pq, behind, func(behind int64, limit int) (all []rules.Peeked, err error) {
		at, found := slices.BinarySearch(numbers, behind)
		if found {
			at++
		}
		for _, number := range numbers[at:min(at+limit, len(numbers))] {
			all = append(all, rules.Peeked{Message: q.all[number].shown(now), Number: number})
		}
		return all, nil
	})
	return page, err
}

// PurgeMessages deletes messages; see [world.Messenger].
func (k *messages) PurgeMessages(ctx context.Context, queue string, dead bool) (n int, more bool, err error) {
	return k.each(ctx, queue, func(m *message) bool { return m.dead || !dead }, func(m *message, now time.Time) { k.remove(m, now) })
}

// RedriveMessages makes dead letters messages again; see [world.Messenger].
func (k *messages) RedriveMessages(ctx context.Context, queue string, ids ...string) (n int, more bool, err error) {
	return k.each(ctx, queue, func(m *message) bool { return m.dead && (len(ids) == 0 || slices.Contains(ids, m.ID)) }, func(m *message, now time.Time) {
		q := m.queue
		m.dead, m.Receives, m.visible = false, 0, now
		q.lineUp(m)
	})
}

// each does something with the messages of a queue that are meant, the first ones first.
func (k *messages) each(ctx context.Context, queue string, meant func(*message) bool, do func(m *message, now time.Time)) (n int, more bool, err error) {
	if err := k.w.enter(ctx); err != nil {
		return 0, false, err
	}
	defer k.leave()
	q, err := k.find(queue)
	if err != nil {
		return 0, false, err
	}
	now := k.w.now()
	for _, number := range slices.Sorted(maps.Keys(q.all)) {
		m := q.all[number]
		switch {
		case !meant(m):
			continue
		case n == world.MaxBatch:
			return n, true, nil
		}
		do(m, now)
		n++
	}
	if n > 0 {
		k.news.add(world.NoticeMessage, queue)
	}
	return n, false, nil
}

func (m *message) state(now time.Time) world.MessageState {
	visible := m.visible
	if m.place < 0 {
		visible = time.Time{}
	}
	return rules.StateOf(now, visible, m.held, m.dead)
}

// shown is the message as it is told.
func (m *message) shown(now time.Time) world.Message {
	out := m.Message
	out.Payload, out.Headers = slices.Clone(m.Payload), maps.Clone(m.Headers)
	out.Until, out.State = m.visible, m.state(now)
	out.Delay, out.Dedupe, out.Window = 0, "", 0
	if m.dead || m.place < 0 {
		out.Until = time.Time{}
	}
	return out
}

// messageHeap is messages by when they can be received, and of equal ones by number.
type messageHeap []*message

func (h messageHeap) Len() int { return len(h) }
func (h messageHeap) Less(i, j int) bool {
	return cmp.Or(h[i].visible.Compare(h[j].visible), cmp.Compare(h[i].number, h[j].number)) < 0
}
func (h messageHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i]; h[i].place, h[j].place = i, j }
func (h *messageHeap) Push(x any)   { m := x.(*message); m.place = len(*h); *h = append(*h, m) }
func (h *messageHeap) Pop() any {
	old := *h
	m := old[len(old)-1]
	m.place = -1
	*h = old[:len(old)-1]
	return m
}
