package postgres

// The queue's costs and its order: what an idle worker asks, and what a worker is served first.

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/stepwell/stepwell/internal/pgtest"
	"github.com/stepwell/stepwell/world"
)

// An idle worker that hears others asks a statement or two a minute: its heartbeats are answered here, and it looks for work once a minute.
func TestIdleWorkerAsksLittle(t *testing.T) {
	t.Parallel()
	var ahead atomic.Int64 // of this process's clock
	w := open(t, Options{Now: func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }})
	wk := join(t, w, 0, class1)
	eventually(t, "it listens, and nothing is left to look at", func() bool {
		claim(t, w, wk, 1)
		return w.Poll() == time.Minute && !w.queue.session.watch.Load()
	})
	took, heartbeats := 0, 0
	before := w.counters.statements.Load()
	for minute := range 10 {
		for range 18 { // a heartbeat each 3.3 s
			ahead.Add(int64(time.Minute / 18))
			if _, err := w.Heartbeat(t.Context(), world.HeartbeatQuery{Worker: wk.ID}); err != nil {
				t.Fatalf("minute %d: %v", minute, err)
			}
			heartbeats++
		}
		took++
		claim(t, w, wk, 1)
	}
	if got := w.counters.statements.Load() - before; got > 2*10 || got < 10 {
		t.Fatalf("got %d statements in ten minutes, with %d heartbeats and %d claims; want 10 to 20", got, heartbeats, took)
	}
}

// A worker that was idle for long and comes to own something has a lease that is good for it, by a claim and by a
// birth.
func TestLeaseAfterIdleness(t *testing.T) {
	t.Parallel()
	for _, by := range []string{"take", "birth"} {
		t.Run(by, func(t *testing.T) {
			t.Parallel()
			url := pgtest.URL(t)
			w, peer := openAt(t, url), openAt(t, url)
			wk, other := join(t, w, 0, class1), join(t, peer, 0)
			if _, err := w.pool.Exec(t.Context(), `UPDATE stepwell.workers SET until = clock_timestamp() - interval '1 minute' WHERE id = $1`, wk.ID); err != nil {
				t.Fatal(err)
			}
			w.crew.mu.Lock()
			w.crew.workers[wk.ID].shown = w.crew.workers[wk.ID].shown.Add(-time.Minute)
			w.crew.mu.Unlock()
			claim(t, peer, other, 1)
			if n := countRows(t, w, "workers"); n != 2 {
				t.Fatalf("got %d workers, want both: who holds nothing need not beat", n)
			}
			if by == "birth" {
				must(t, w, eager("r", "w", wk.ID))
			} else {
				must(t, peer, birthOf("r", "w"))
				if got := claim(t, w, wk, 1); len(got.Runs) != 1 {
					t.Fatalf("took %+v, want the run", got)
				}
			}
			var left float64
			if err := w.pool.QueryRow(t.Context(), `SELECT extract(epoch FROM until - clock_timestamp())::float8 FROM stepwell.workers WHERE id = $1`, wk.ID).Scan(&left); err != nil || left <= 0 {
				t.Fatalf("got %g s of the lease, %v; want some", left, err)
			}
			peer.queue.looks.forget()
			claim(t, peer, other, 1)
			if row, err := w.Run(t.Context(), "r"); err != nil || row.Queue.Owner != wk.ID {
				t.Fatalf("got %+v, %v, want owner %s", row.Queue, err, wk.ID)
			}
		})
	}
}

// A worker that holds nothing and is silent for long is gone.
func TestSilentWorkerIsGone(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t)
	w, peer := openAt(t, url, Options{NoNotify: true}), openAt(t, url)
	wk, other := join(t, w, 0, class1), join(t, peer, 0)
	if _, err := w.pool.Exec(t.Context(), `UPDATE stepwell.workers SET until = clock_timestamp() - interval '4 minutes' WHERE id = $1`, wk.ID); err != nil {
		t.Fatal(err)
	}
	eventually(t, "it is buried", func() bool { claim(t, peer, other, 1); return countRows(t, peer, "workers") == 1 })
	if n := countRows(t, peer, "lanes"); n != len(peer.laneNumbers()) {
		t.Fatalf("got %d lanes, want those of the other worker", n)
	}
	_, err := w.Commit(t.Context(), eager("r", "w", wk.ID))
	wantErr(t, err, world.ErrLeaseLost)
}

// What was taken behind an old snapshot leaves dead entries at the front of the index: looks after the first full one pass them by.
func TestLowWaterMark(t *testing.T) {
	t.Parallel()
	w := open(t)
	wk := join(t, w, time.Minute, class1)
	class, err := w.classes.key(t.Context(), class1)
	if err != nil {
		t.Fatal(err)
	}
	snapshot, err := w.pool.BeginTx(t.Context(), pgx.TxOptions{IsoLevel: pgx.RepeatableRead})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = snapshot.Rollback(context.Background()) }()
	exec := func(sql string, args ...any) {
		t.Helper()
		if _, err := w.pool.Exec(t.Context(), sql, args...); err != nil {
			t.Fatal(err)
		}
	}
	if err := snapshot.QueryRow(t.Context(), `SELECT count(*) FROM stepwell.queue`).Scan(new(int)); err != nil {
		t.Fatal(err)
	}
	const claimed = 20_000
	exec(`INSERT INTO stepwell.queue (run, class, running, priority, ready_at) SELECT 1000000 + i, $1, true, 1, clock_timestamp() - interval '1 hour' + i * interval '1 ms'
		FROM generate_series(1, $2::integer) i`, class, claimed)
	exec(`UPDATE stepwell.queue SET ready_at = NULL, wake_at = NULL`)
	exec(`ANALYZE stepwell.queue`)
	look := func() (blocks int64, full bool) {
		t.Helper()
		q := w.queue.looks.next(w.now())
		classes, priorities, from := partitionArgs([]int32{class}, q.low)
		args := []any{classes, priorities, from, 10, []string{}, []int16{}, []string{}, []time.Time{}, 10, q.full, []string{}, []string{}, []int32{class}, true, false}
		return blocksOf(t, w, w.sql(ready), args...), q.full
	}
	cold, full := look()
	if !full || cold < 100 {
		t.Fatalf("the first look, full %v, touched %d blocks, want a full one and hundreds: the test proves nothing else", full, cold)
	}
	w.queue.looks.forget()
	claim(t, w, wk, 10)
	must(t, w, birthOf("r", "w"))
	w.queue.looks.next(w.now()) // the notice
	w.queue.looks.mu.Lock()
	w.queue.looks.full = time.Now() // the next full look is not due yet, however long all this took
	w.queue.looks.mu.Unlock()
	if warm, full := look(); full || warm > cold/5 {
		t.Fatalf("the next look, full %v, touched %d blocks, the first %d; want one from the mark that touches few", full, warm, cold)
	}
	if got := claim(t, w, wk, 10); len(got.Runs) != 1 || got.Runs[0].Run != "r" {
		t.Fatalf("took %+v, want r", got.Runs)
	}
}

// blocksOf counts the blocks that a statement touches.
func blocksOf(t testing.TB, w *World, sql string, args ...any) int64 {
	t.Helper()
	var text string
	if err := w.pool.QueryRow(t.Context(), "EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) "+sql, args...).Scan(&text); err != nil {
		t.Fatal(err)
	}
	var plans []struct {
		Plan struct {
			Hit  int64 `json:"Shared Hit Blocks"`
			Read int64 `json:"Shared Read Blocks"`
		}
	}
	if err := json.Unmarshal([]byte(text), &plans); err != nil {
		t.Fatal(err)
	}
	return plans[0].Plan.Hit + plans[0].Plan.Read
}

// Takers that meet are each given what nobody else has, and all of it is given, however they meet.
func TestTakersMeet(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t)
	const takers, runs = 3, 90
	got := make(chan string, 2*runs)
	first := openAt(t, url)
	for i := range runs {
		must(t, first, birthOf(fmt.Sprint("r", i), "w"))
	}
	errs := make(chan error, takers)
	for range takers {
		w := openAt(t, url)
		wk := join(t, w, time.Minute, class1)
		go func() {
			for {
				claimed, err := w.Claim(t.Context(), world.ClaimQuery{Worker: wk.ID, Classes: wk.Classes, Runs: 7})
				for _, r := range claimed.Runs {
					got <- r.Run
				}
				if err != nil || len(claimed.Runs) == 0 && !claimed.More && claimed.Next.IsZero() {
					errs <- err
					return
				}
				if len(claimed.Runs) == 0 && len(got) >= runs {
					errs <- nil
					return
				}
			}
		}()
	}
	for range takers {
		if err := <-errs; err != nil {
			t.Fatal(err)
		}
	}
	close(got)
	seen := make(map[string]bool)
	for run := range got {
		if seen[run] {
			t.Errorf("run %s was given twice", run)
		}
		seen[run] = true
	}
	if len(seen) != runs {
		t.Fatalf("%d runs were given, want %d", len(seen), runs)
	}
}

// News goes to other processes: of work, mail, ends and logs, with the run; a process does not hear itself twice.
func TestNewsAcrossProcesses(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t)
	a, b := openAt(t, url), openAt(t, url)
	wk := join(t, a, time.Minute, class1)
	heard := make(chan world.Notice, 1000)
	defer b.Notify(func(n world.Notice) { heard <- n })()
	eventually(t, "it listens", func() bool { return b.Poll() > 0 })
	expect := func(kind world.NoticeKind, run string) {
		t.Helper()
		timeout := time.After(patience)
		for {
			select {
			case n := <-heard:
				if n.Kind == kind && (n.Run == run || n.Run == "") {
					return
				}
			case <-timeout:
				t.Fatalf("no notice of %s about run %s", kind, run)
			}
		}
	}
	for len(heard) > 0 {
		<-heard
	}
	must(t, a, birthOf("r", "w"))
	expect(world.NoticeWork, "r")
	if got := claim(t, a, wk, 1); len(got.Runs) != 1 {
		t.Fatalf("took %+v, want r", got)
	}
	if _, err := a.Deliver(t.Context(), &world.Delivery{Run: "r", Events: []world.Event{{Type: world.SignalReceived, Name: "go"}}}); err != nil {
		t.Fatal(err)
	}
	expect(world.NoticeMail, "r")
	must(t, a, &world.Commit{ID: commitID(), Run: "r", Worker: wk.ID, Claim: 1, First: 2, Events: []world.Event{{Type: world.RunStarted, Time: world.Now()}}})
	expect(world.NoticeLog, "r")
	if _, err := a.Deliver(t.Context(), &world.Delivery{Run: "r", Act: true, Events: []world.Event{{Type: world.RunCancelled, By: "ann"}}}); err != nil {
		t.Fatal(err)
	}
	expect(world.NoticeEnded, "r")
}

// What does not fit a notification is told as news of the kind, and what is told last before a World is closed is sent.
func TestNewsThatDoNotFit(t *testing.T) {
	t.Parallel()
	var all []world.Notice
	long := strings.Repeat("x", 128)
	for i := range 200 {
		all = append(all, world.Notice{Kind: world.NoticeLog, Run: fmt.Sprint(long, i)})
	}
	all = append(all, world.Notice{Kind: world.NoticeMail, Run: "r"})
	payload := newsPayload("me", all)
	var m message
	if err := json.Unmarshal([]byte(payload), &m); err != nil || len(payload) > newsBytes+200 || len(m.Log) != 1 || m.Log[0] != "" || len(m.Mail) != 1 {
		t.Fatalf("got %d bytes, %+v, %v", len(payload), m, err)
	}

	url := pgtest.URL(t)
	b := openAt(t, url)
	heard := make(chan world.Notice, 100)
	defer b.Notify(func(n world.Notice) { heard <- n })()
	eventually(t, "it listens", func() bool { return b.Poll() > 0 })
	a := openAt(t, url)
	must(t, a, birthOf("r", "w"))
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the birth is told", func() bool {
		for len(heard) > 0 {
			if n := <-heard; n == (world.Notice{Kind: world.NoticeWork, Run: "r"}) || n == (world.Notice{Kind: world.NoticeWork}) {
				return true
			}
		}
		return false
	})
}

// A task of a step that no look has met is known by the news of its run; later looks that are not full know when it is due, too.
func TestNextOfATaskKnownByItsNews(t *testing.T) {
	t.Parallel()
	w := open(t)
	wk := join(t, w, 0, class1)
	wk.Steps = []string{"charge"}
	must(t, w, eager("r", "w", wk.ID))
	claim(t, w, wk, 1)
	l := &w.queue.looks
	l.mu.Lock()
	l.full = time.Now().Add(time.Hour) // no look is full from here on
	l.mu.Unlock()

	due := world.Now().Add(time.Hour)
	c := stepCommit("r", wk.ID, 0)
	c.Events = []world.Event{{Type: world.StepCreated, ID: "step_1", Name: "charge", Time: world.Now(), Kind: world.KindTask}}
	c.Tasks = []world.Task{{Step: "step_1", Name: "charge", Priority: 1, Visible: due}}
	must(t, w, c)
	must(t, w, birthOf("other", "w"))
	for range 2 { // the first look is told of the run
		got, err := w.Claim(t.Context(), world.ClaimQuery{Worker: wk.ID, Classes: wk.Classes, Runs: 1, Steps: wk.Steps})
		if err != nil {
			t.Fatal(err)
		}
		if !got.Next.Equal(due) {
			t.Errorf("next is %s, want %s", got.Next, due)
		}
	}
}
