package postgres

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stepwell/stepwell/internal/pgtest"
	"github.com/stepwell/stepwell/world"
)

// pair are two processes: a worker, which listens and has looked, and a sender.
type pair struct {
	*testing.T
	worker, sender *World
	wk             world.Worker
	news           chan world.Notice
}

func newPair(t *testing.T) *pair {
	url := pgtest.URL(t)
	p := &pair{T: t, worker: openAt(t, url), sender: openAt(t, url), news: make(chan world.Notice, 1000)}
	p.wk = join(t, p.worker, time.Minute, class1)
	t.Cleanup(p.worker.Notify(func(n world.Notice) { p.news <- n }))
	eventually(t, "it listens", func() bool { return p.worker.Poll() > 0 })
	return p
}

// rests creates a run that the worker works on and gives up, until mail comes.
func (p *pair) rests(run string) {
	p.Helper()
	must(p.T, p.worker, eager(run, "w", p.wk.ID))
	c := stepCommit(run, p.wk.ID, 0)
	c.Release = &world.Release{}
	must(p.T, p.worker, c)
}

// looked has the worker look until it knows that there is nothing.
func (p *pair) looked() {
	p.Helper()
	eventually(p.T, "a look leaves nothing", func() bool {
		claim(p.T, p.worker, p.wk, 10)
		l := &p.worker.queue.looks
		l.mu.Lock()
		defer l.mu.Unlock()
		return l.last.worker != nil && len(l.named) == 0
	})
}

// send sends a signal, and returns when the worker's process has heard of it.
func (p *pair) send(run string) (statements int64) {
	p.Helper()
	before := p.sender.counters.statements.Load()
	signal := world.Delivery{Run: run, ID: fmt.Sprint("d", before), Events: []world.Event{{Type: world.SignalReceived, Name: "go"}}}
	if _, err := p.sender.Deliver(p.Context(), &signal); err != nil {
		p.Fatal(err)
	}
	eventually(p.T, "the worker hears of it", func() bool {
		l := &p.worker.queue.looks
		l.mu.Lock()
		defer l.mu.Unlock()
		_, named := l.named[run]
		return named
	})
	return p.sender.counters.statements.Load() - before
}

// Mail for a run that a process gave up takes the shortest way there: it is delivered and told in one round trip, and taken in one more, without a look.
func TestMailIsTakenWithoutALook(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	p.rests("r")
	p.looked()
	if got := p.send("r"); got != 3 {
		t.Errorf("the sender made %d statements, want 3", got)
	}
	before := p.worker.counters.statements.Load()
	got := claim(t, p.worker, p.wk, 10)
	if len(got.Runs) != 1 || got.Runs[0].Run != "r" || len(got.Runs[0].Mail) != 1 || got.More || !got.Next.IsZero() {
		t.Fatalf("took %+v, want r with its mail, and nothing else", got)
	}
	if n := p.worker.counters.statements.Load() - before; n != 5 {
		t.Errorf("taking made %d statements, want the 5 of the transaction that gives", n)
	}
}

// Nobody is passed over for a hint: where anything else is known to wait, there is a look, and the higher priority goes first.
func TestHintPassesNobodyOver(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	p.rests("r")
	p.looked()
	urgent := birthOf("urgent", "w")
	urgent.Events[0].Birth.Priority = 3
	must(t, p.worker, urgent)
	p.send("r")
	for _, want := range []string{"urgent", "r"} {
		got := claim(t, p.worker, p.wk, 1)
		if len(got.Runs) != 1 || got.Runs[0].Run != want {
			t.Fatalf("took %+v, want %s", got.Runs, want)
		}
	}
}

// A run that another process has worked on since is taken by a look, and the hint is forgotten.
func TestHintThatIsOld(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	p.rests("r")
	p.looked()
	p.send("r")
	other := join(t, p.sender, time.Minute, class1)
	p.sender.queue.looks.forget()
	if got := claim(t, p.sender, other, 1); len(got.Runs) != 1 {
		t.Fatalf("the other process took %+v, want r", got.Runs)
	}
	if got := claim(t, p.worker, p.wk, 10); len(got.Runs) != 0 {
		t.Fatalf("took %+v, which is owned", got.Runs)
	}
	if p.worker.queue.resting.has("r") {
		t.Error("the hint is remembered")
	}
}

// What hints remember is bounded, and what came last stays.
func TestRestingIsBounded(t *testing.T) {
	t.Parallel()
	var s released
	for i := range 3 * mostReleased {
		s.note(&run{id: fmt.Sprint(i), key: int64(i)})
		s.note(&run{id: "often", key: -1})
	}
	if len(s.byID) != mostReleased || len(s.order) != mostReleased || !s.has(fmt.Sprint(3*mostReleased-1)) || s.has("0") {
		t.Fatalf("%d are remembered, in order %d", len(s.byID), len(s.order))
	}
}

// A claim waits for no disk, so a crash of the server may undo it. Its worker, which does not know, writes nothing then, whatever its first commit is, and whether
// or not another has taken the run meanwhile: what that one writes stands.
func TestTakeThatACrashUndid(t *testing.T) {
	t.Parallel()
	for _, claimed := range []bool{false, true} {
		for name, shape := range map[string]func(c *world.Commit){
			"a turn": func(*world.Commit) {},
			"an end": func(c *world.Commit) {
				c.Events = append(c.Events, world.Event{Type: world.RunCompleted, Time: world.Now()})
			},
			"a release": func(c *world.Commit) { c.Events, c.Release = nil, &world.Release{} },
		} {
			t.Run(fmt.Sprint(name, ", taken by another ", claimed), func(t *testing.T) {
				t.Parallel()
				url := pgtest.URL(t)
				w, peer := openAt(t, url), openAt(t, url)
				wk, other := join(t, w, time.Minute, class1), join(t, peer, time.Minute, class1)
				must(t, w, birthOf("r", "w"))
				mine := claim(t, w, wk, 1).Runs[0]
				execute(t, url, `UPDATE stepwell.queue SET owner = NULL, take = take - 1, taken = 0, ready_at = clock_timestamp()`) // the crash
				if claimed {
					peer.queue.looks.forget()
					if got := claim(t, peer, other, 1); len(got.Runs) != 1 || got.Runs[0].Claim != mine.Claim {
						t.Fatalf("the other took %+v, want r under the same number", got.Runs)
					}
				}
				c := &world.Commit{ID: commitID(), Run: "r", Worker: wk.ID, Claim: mine.Claim, First: mine.Seq + 1, Events: []world.Event{{Type: world.RunStarted, Time: world.Now()}}}
				shape(c)
				_, err := w.Commit(t.Context(), c)
				wantErr(t, err, world.ErrLeaseLost)
				if !claimed {
					return
				}
				c.ID, c.Worker, c.Release = commitID(), other.ID, nil
				c.Events = []world.Event{{Type: world.RunStarted, Time: world.Now()}}
				must(t, peer, c)
			})
		}
	}
}

// Each delivery of a group has its own fate: what is known, over, unknown, or too much is told, and what waits under an ID is not inserted twice.
func TestGroupOfDeliveries(t *testing.T) {
	t.Parallel()
	w := open(t, Options{InboxLimit: 3})
	wk := join(t, w, time.Minute, class1)
	for _, run := range []string{"r", "owned", "over"} {
		must(t, w, birthOf(run, "w"))
	}
	if _, err := w.Deliver(t.Context(), &world.Delivery{Run: "over", Act: true, Events: []world.Event{{Type: world.RunCancelled, By: "ann"}}}); err != nil {
		t.Fatal(err)
	}
	must(t, w, eager("mine", "w", wk.ID))
	var batch []*sending
	var want []string
	add := func(run, id string, kind world.EventType, result string) {
		m, err := newSending(&world.Delivery{Run: run, ID: id, Events: []world.Event{{Type: kind, Name: "go"}}})
		if err != nil {
			t.Fatal(err)
		}
		batch, want = append(batch, m), append(want, result)
	}
	if _, err := w.Deliver(t.Context(), &world.Delivery{Run: "r", ID: "d0", Events: []world.Event{{Type: world.SignalReceived, Name: "go"}}}); err != nil {
		t.Fatal(err)
	}
	add("r", "d1", world.SignalReceived, "in")
	add("nobody", "d2", world.SignalReceived, "not found")
	add("r", "d0", world.SignalReceived, "duplicate")
	add("over", "d3", world.SignalReceived, "terminal")
	add("r", "", world.SignalReceived, "in")
	add("mine", "d4", world.SignalReceived, "in")
	add("r", "d5", world.SignalReceived, "full")
	add("r", "d6", world.CancelRequested, "in")
	w.sender.deliverGroup(t.Context(), batch)
	var got []string
	for _, m := range batch {
		<-m.done
		switch {
		case m.err == nil && m.result.Duplicate:
			got = append(got, "duplicate")
		case m.err == nil && m.result.Run == m.d.Run && (m.result.Owner == wk.ID) == (m.d.Run == "mine"):
			got = append(got, "in")
		default:
			for err, text := range map[error]string{world.ErrNotFound: "not found", world.ErrTerminal: "terminal", world.ErrInboxFull: "full"} {
				if errors.Is(m.err, err) {
					got = append(got, text)
				}
			}
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if n := countRows(t, w, "inbox"); n != 5 {
		t.Errorf("%d deliveries wait, want 5", n)
	}
}

// A heartbeat that follows another at once reads and does not write.
func TestBeatAfterABeat(t *testing.T) {
	t.Parallel()
	w := open(t)
	wk := join(t, w, time.Hour, class1)
	must(t, w, eager("r", "w", wk.ID))
	version := func() (xmin string) {
		t.Helper()
		if err := w.pool.QueryRow(t.Context(), `SELECT xmin::text FROM stepwell.workers`).Scan(&xmin); err != nil {
			t.Fatal(err)
		}
		return xmin
	}
	heartbeat := func() world.Heartbeat {
		t.Helper()
		b, err := w.Heartbeat(t.Context(), world.HeartbeatQuery{Worker: wk.ID})
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	eventually(t, "its session is noted, which writes the row", func() bool {
		var noted bool
		return w.pool.QueryRow(t.Context(), `SELECT session FROM stepwell.workers`).Scan(&noted) == nil && noted
	})
	heartbeat()
	before := version()
	if _, err := w.Deliver(t.Context(), &world.Delivery{Run: "r", ID: "d", Events: []world.Event{{Type: world.SignalReceived, Name: "go"}}}); err != nil {
		t.Fatal(err)
	}
	if b := heartbeat(); len(b.Mail) != 1 || !b.Until.After(b.Now) {
		t.Fatalf("got %+v, want the mail and a lease", b)
	}
	if got := version(); got != before {
		t.Error("the second heartbeat wrote the worker's row")
	}
	w.crew.mu.Lock()
	w.crew.workers[wk.ID].shown = w.crew.workers[wk.ID].shown.Add(-time.Hour / 2)
	w.crew.mu.Unlock()
	heartbeat()
	if got := version(); got == before {
		t.Error("a heartbeat long after the last did not write the worker's row")
	}
}

// Mail whose sender took its run for owned, because the release was under way, is told to the owner; by then it has given the run up, and takes it again.
func TestMailToAnOwnerThatGaveUp(t *testing.T) {
	t.Parallel()
	for _, from := range []string{"elsewhere", "here"} {
		t.Run(from, func(t *testing.T) {
			t.Parallel()
			p := newPair(t)
			p.rests("r")
			p.looked()
			execute(t, p.worker.cfg.ConnString(), `INSERT INTO stepwell.inbox (run, cancel, payload, format, head, body)
				SELECT key, false, true, 1, '{"e":[{"y":"signal_received","n":"go"}]}', '' FROM stepwell.runs WHERE id = 'r'`)
			late := world.Notice{Kind: world.NoticeMail, Run: "r"}
			if from == "here" {
				p.worker.telling.tell(late)
			} else if work, hinted := p.worker.sessions.hear(newsPayload("another", []world.Notice{late})); !work || !hinted {
				t.Errorf("the notification is news of work: %v, to be taken at once: %v; want both", work, hinted)
			}
			if got := claim(t, p.worker, p.wk, 10); len(got.Runs) != 1 || len(got.Runs[0].Mail) != 1 {
				t.Fatalf("took %+v, want r with its mail", got.Runs)
			}
		})
	}
}
