package sqlite

import (
	"fmt"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stepwell/stepwell/world"
)

// A client beside a busy worker process: whatever it is told was delivered arrives, once, and in the order in which it was sent.
func TestClientBesideBusyWorker(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "runs.db")
	a, b := openAt(t, path), openAt(t, path)
	wk := join(t, a, 0, class1)
	const runs, signals = 4, 20
	for i := range runs {
		must(t, a, eager(fmt.Sprint("r", i), "w", wk.ID))
	}
	got := make([][]string, runs)
	var wg, senders sync.WaitGroup
	for i := range runs {
		senders.Go(func() {
			for n := range signals {
				d := &world.Delivery{Run: fmt.Sprint("r", i), ID: fmt.Sprint(n), Events: []world.Event{{Type: world.SignalReceived, Name: "s"}}}
				if _, err := b.Deliver(t.Context(), d); err != nil {
					t.Errorf("deliver %d to r%d: %v", n, i, err)
				}
			}
		})
	}
	quiet := make(chan struct{})
	go func() { senders.Wait(); close(quiet) }()
	wg.Go(func() { // the owner of all of them: it appends what came, and is busy
		next := [runs]int64{}
		for last := false; ; {
			heartbeat, err := a.Heartbeat(t.Context(), world.HeartbeatQuery{Worker: wk.ID})
			if err != nil {
				t.Error(err)
				return
			}
			for i := range runs {
				c := stepCommit(fmt.Sprint("r", i), wk.ID, 0)
				c.First += next[i]
				for _, m := range heartbeat.Mail {
					if m.Run == c.Run {
						c.Mail = append(c.Mail, m.Row)
						got[i] = append(got[i], m.ID)
					}
				}
				next[i] += int64(len(c.Events))
				if _, err := a.Commit(t.Context(), c); err != nil {
					t.Error(err)
					return
				}
			}
			if last && len(heartbeat.Mail) == 0 {
				return
			}
			select {
			case <-quiet:
				last = true
			default:
			}
		}
	})
	wg.Wait()
	for i := range got {
		if len(got[i]) != signals {
			t.Fatalf("r%d: got %d deliveries, want %d", i, len(got[i]), signals)
		}
		for n, id := range got[i] {
			if id != fmt.Sprint(n) {
				t.Fatalf("r%d: got %v, want 0 to %d in order", i, got[i], signals-1)
			}
		}
	}
}

// Two workers of one process: what the one that stopped beating had comes back, and it writes no more.
func TestLeaseEnds(t *testing.T) {
	t.Parallel()
	now := world.Now()
	var mu sync.Mutex
	w := open(t, Options{Now: func() time.Time { mu.Lock(); defer mu.Unlock(); return now }})
	pass := func(d time.Duration) { mu.Lock(); now = now.Add(d); mu.Unlock() }
	first, second := join(t, w, 10*time.Second, class1), join(t, w, time.Minute, class1)
	must(t, w, eager("r", "w", first.ID))
	pass(9 * time.Second)
	if got := claim(t, w, second, 5); len(got.Runs) != 0 || !got.Next.Equal(now.Add(time.Second)) {
		t.Fatalf("took %+v, want nothing until the lease ends", got)
	}
	pass(time.Second)
	if got := claim(t, w, second, 5); len(got.Runs) != 1 || got.Runs[0].Claim != 2 {
		t.Fatalf("took %+v, want r again", got)
	}
	_, err := w.Commit(t.Context(), stepCommit("r", first.ID, 0))
	wantErr(t, err, world.ErrLeaseLost)
	_, err = w.Heartbeat(t.Context(), world.HeartbeatQuery{Worker: first.ID})
	wantErr(t, err, world.ErrLeaseLost)
	_, err = w.Claim(t.Context(), world.ClaimQuery{Worker: first.ID, Runs: 1})
	wantErr(t, err, world.ErrLeaseLost)
	pass(-time.Hour) // a clock that steps back ends no lease
	if _, err := w.Heartbeat(t.Context(), world.HeartbeatQuery{Worker: second.ID}); err != nil {
		t.Fatal(err)
	}
}

// Higher priority first, but who has waited a minute counts one more; among equals, workflows take turns.
func TestAging(t *testing.T) {
	t.Parallel()
	now := world.Now()
	w := open(t, Options{Now: func() time.Time { return now }})
	other := world.Class{Workflow: "v", Version: 1}
	wk := join(t, w, time.Hour, class1, other)
	create := func(run, workflow string, priority int) {
		c := birthOf(run, workflow)
		c.Events[0].Birth.Priority = priority
		must(t, w, c)
	}
	create("old", "w", 0)
	now = now.Add(2 * time.Minute)
	create("low", "w", 1)
	create("high", "w", 3)
	create("w1", "w", 2)
	create("w2", "w", 2)
	create("v1", "v", 2)
	var got []string
	for range 6 {
		got = append(got, claim(t, w, wk, 1).Runs[0].Run)
	}
	// old is at 2 by now, and due before the others there; v has had no turn yet.
	if want := "[high v1 old w1 w2 low]"; fmt.Sprint(got) != want {
		t.Errorf("got %v, want %s", got, want)
	}
}
