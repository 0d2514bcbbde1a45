package postgres

// News across processes. What a World tells its own listeners it also sends to the other processes of the database, after the change is durable and some
// milliseconds' worth of it at a time: NOTIFY in a transaction that changes runs would put all of them in one queue. News may be lost and may repeat.

import (
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"sync"
	"time"

	"github.com/stepwell/stepwell/world"
)

const (
	newsPause  = 5 * time.Millisecond   // between notifications that a World sends, at least
	newsRetry  = 200 * time.Millisecond // where one could not be sent
	newsLast   = time.Second            // for the last one, when the World is closed
	newsBytes  = 7000                   // of a notification's payload; PostgreSQL takes 8,000
	workPause  = 25 * time.Millisecond  // between times that a World's listeners are told of others' work: each of them looks for it
	slowPoll   = time.Minute            // between looks for work by who listens
	kickDelay  = fullPause
	mostOfKind = 100 // runs that are named in one notification
)

var sendNews = load("send_news")

// message is what a notification says. A list names runs; one that has "" is about all.
type message struct {
	From  string   `json:"i,omitempty"` // the World that sent it; "": a transaction of an application's own
	Work  []string `json:"w,omitempty"`
	Post  []string `json:"p,omitempty"` // as Work, because mail came while nobody owned them
	Mail  []string `json:"m,omitempty"`
	Ended []string `json:"e,omitempty"`
	Log   []string `json:"l,omitempty"`
	Chunk []string `json:"c,omitempty"`
	Queue []string `json:"q,omitempty"` // names of queues of messages
	Topic []string `json:"t,omitempty"` // one that is "": something was published
	Sched []string `json:"d,omitempty"` // one that is "": a schedule has changed
}

// list is the part of a message for a kind of news.
func (m *message) list(kind world.NoticeKind) *[]string {
	switch kind {
	case world.NoticeWork:
		return &m.Work
	case noticePost:
		return &m.Post
	case world.NoticeMail:
		return &m.Mail
	case world.NoticeEnded:
		return &m.Ended
	case world.NoticeLog:
		return &m.Log
	case world.NoticeStream:
		return &m.Chunk
	case world.NoticeMessage:
		return &m.Queue
	case world.NoticeTopic:
		return &m.Topic
	case world.NoticeSchedule:
		return &m.Sched
	}
	return nil
}

// noticePost is what Worlds tell each other instead of [world.NoticeWork] where mail came for a run that nobody owns: see hints.go.
const noticePost world.NoticeKind = "post"

// kinds are all kinds of news, the most urgent first.
var kinds = []world.NoticeKind{noticePost, world.NoticeWork, world.NoticeMail, world.NoticeMessage, world.NoticeTopic, world.NoticeSchedule, world.NoticeEnded, world.NoticeLog, world.NoticeStream}

// news is what is to be sent.
type news struct {
	from  string // names this World
	mu    sync.Mutex
	runs  map[world.NoticeKind]map[string]bool
	nudge chan struct{} // capacity 1
	quiet time.Time     // no notification is sent before
	kick  time.Time     // when the listeners here are to be told to look for work; zero: never
}

func (n *news) add(notices []world.Notice) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.runs == nil {
		n.runs = make(map[world.NoticeKind]map[string]bool)
	}
	for _, x := range notices {
		runs := n.runs[x.Kind]
		if runs == nil {
			runs = make(map[string]bool)
			n.runs[x.Kind] = runs
		}
		if runs[""] {
			continue
		}
		if runs[x.Run] = true; len(runs) > mostOfKind {
			clear(runs)
			runs[""] = true
		}
	}
	n.wakeLocked()
}

func (n *news) wakeLocked() {
	select {
	case n.nudge <- struct{}{}:
	default:
	}
}

// drain returns the payload of the next notification, "" where there is no news. What it takes is told to others once, or is to be put back.
func (n *news) drain() (payload string, notices []world.Notice) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, kind := range kinds {
		if runs := n.runs[kind]; runs[""] {
			notices = append(notices, world.Notice{Kind: kind})
		} else {
			for run := range runs {
				notices = append(notices, world.Notice{Kind: kind, Run: run})
			}
		}
	}
	clear(n.runs)
	if len(notices) == 0 {
		return "", nil
	}
	return newsPayload(n.from, notices), notices
}

// newsPayload is what a notification of some news says, in at most newsBytes: kinds that do not fit are about all runs.
func newsPayload(from string, notices []world.Notice) string {
	m, size := message{From: from}, 100
	for _, x := range notices {
		list := m.list(x.Kind)
		if list == nil || len(*list) == 1 && (*list)[0] == "" {
			continue
		}
		if size += len(x.Run) + 3; x.Run == "" || size > newsBytes {
			*list = []string{""}
			continue
		}
		*list = append(*list, x.Run)
	}
	text, _ := json.Marshal(&m) // strings alone: it cannot fail
	return string(text)
}

// kickSoon has the workers of this World look for work a moment later.
func (n *news) kickSoon() {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.kick.IsZero() {
		n.kick = time.Now().Add(kickDelay)
		n.wakeLocked()
	}
}

// kicked reports whether it is time for a kick, and else how long until then.
func (n *news) kicked() (now bool, in time.Duration) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.kick.IsZero() {
		return false, time.Hour
	}
	if in = time.Until(n.kick); in > 0 {
		return false, in
	}
	n.kick = time.Time{}
	return true, time.Hour
}

// channel is where the Worlds of a schema listen.
func (q *queueing) channel() string { return fmt.Sprintf("stepwell_%08x", uint32(q.session.class)) }

// schemaClass is a number for a schema: the first of its advisory locks.
func schemaClass(schema string) int32 {
	h := fnv.New32a()
	_, _ = h.Write([]byte(schema)) // never fails
	return int32(h.Sum32() & 0x7fffffff)
}

// sendNewsLoop sends what is announced, until ctx ends; then what is left.
func (se *sessionKeeper) sendNewsLoop(ctx context.Context) {
	n := &se.queue.news
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		kick, wait := n.kicked()
		if kick {
			se.telling.here([]world.Notice{{Kind: world.NoticeWork}})
		}
		wake := n.nudge
		if d := n.quietFor(); d > 0 { // what comes meanwhile goes with the next one
			wake, wait = nil, min(wait, d)
		}
		timer.Reset(wait)
		select {
		case <-ctx.Done():
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), newsLast)
			defer cancel()
			se.sendNews(last)
			return
		case <-wake:
		case <-timer.C:
		}
		if n.quietFor() <= 0 {
			now := time.Now()
			n.holdOff(now.Add(se.sendNews(ctx)))
		}
	}
}

// quietFor is how long no notification is to be sent.
func (n *news) quietFor() time.Duration {
	n.mu.Lock()
	defer n.mu.Unlock()
	return time.Until(n.quiet)
}

// holdOff leaves it at what was sent, until a time.
func (n *news) holdOff(until time.Time) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.quiet = until
}

// sendNews sends what there is, and returns how long to leave it at that.
func (se *sessionKeeper) sendNews(ctx context.Context) (pause time.Duration) {
	payload, notices := se.queue.news.drain()
	if payload == "" {
		return 0
	}
	se.counters.housekeeping.Add(1)
	var now time.Time
	sent := time.Now()
	if err := se.pool.QueryRow(ctx, se.sql(sendNews), se.queue.channel(), payload).Scan(nil, nil, &now); err != nil {
		se.queue.news.add(notices)
		return newsRetry
	}
	se.clock.measure(sent, now) // who creates runs and takes none asks the time nowhere else
	return newsPause
}

// hear tells the listeners here what another process said. It reports whether there is work, and whether a worker here may take some of it without a look.
func (se *sessionKeeper) hear(payload string) (work, hinted bool) {
	var m message
	if err := json.Unmarshal([]byte(payload), &m); err != nil || m.From == se.queue.news.from {
		return false, false
	}
	if m.From == "" {
		se.queue.looks.forget() // it may have been written long before it was committed
	}
	var notices []world.Notice
	for _, kind := range kinds {
		for _, run := range *m.list(kind) {
			late := kind == world.NoticeMail && se.telling.gaveUp(run)
			if kind != world.NoticeWork && kind != noticePost {
				notices = append(notices, world.Notice{Kind: kind, Run: run})
				if !late {
					continue
				}
			}
			work = true
			se.queue.looks.name(run, late || kind == noticePost)
			hinted = hinted || late || kind == noticePost && se.queue.resting.has(run)
		}
	}
	se.telling.here(notices)
	return work, hinted && se.queue.looks.mayHint()
}

// Poll returns how often a worker must look for work besides notices; see [world.Poller]. It is
// longer while notifications work.
func (w *World) Poll() time.Duration {
	if w.queue.session.listening.Load() && !w.clock.mayComeBack() {
		return slowPoll
	}
	return 0
}
