package limits_test

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	mathrand "math/rand/v2"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stepwell/stepwell/internal/pgtest"
	"github.com/stepwell/stepwell/internal/sample"
	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/memory"
	"github.com/stepwell/stepwell/world/postgres"
	"github.com/stepwell/stepwell/world/sqlite"
)

// pace has three workers claim runs under a rate, each when it is told to come again and some milliseconds late; one of
// them dies on the way. It counts those that begin in a span of time from the first on.
type pace struct {
	testing.TB
	w       world.World
	clock   func() time.Time
	until   func(time.Time) // waits
	number  int
	per     time.Duration
	late    time.Duration // at most
	span    time.Duration
	longest time.Duration // the longest time between two, from the second on
}

func (p *pace) join() string {
	p.Helper()
	id := world.NewID(world.PrefixWorker, p.clock())
	if _, err := p.w.Join(p.Context(), world.Worker{ID: id, Lease: time.Hour, Classes: []world.Class{{Workflow: "call", Version: 1}}}); err != nil {
		p.Fatal(err)
	}
	return id
}

// start creates so many runs.
func (p *pace) start(n int) {
	p.Helper()
	var wg sync.WaitGroup
	defer wg.Wait()
	part := (n + 15) / 16
	for i := range 16 {
		wg.Go(func() { p.startSome(min(part, n-i*part)) })
	}
}

func (p *pace) startSome(n int) {
	for i := range max(n, 0) {
		b := &world.Birth{Workflow: "call", Version: 1, Priority: 1, Places: []world.Place{{Limit: "bank", Number: p.number, Per: p.per}}}
		c := &world.Commit{Run: world.NewID(world.PrefixRun, p.clock()), First: 1, Events: []world.Event{
			{Type: world.RunCreated, Time: p.clock(), Payload: json.RawMessage(fmt.Sprint(i)), Birth: b},
		}}
		rand.Read(c.ID[:])
		if _, err := p.w.Commit(p.Context(), c); err != nil {
			p.Error(err)
			return
		}
	}
}

// counted is how many begin in the span, and in the second that has most of them.
func (p *pace) counted() (total, mostInOne int) {
	p.Helper()
	workers := []string{p.join(), p.join(), p.join()}
	random := mathrand.New(mathrand.NewPCG(1, 2))
	none, err := p.w.Claim(p.Context(), world.ClaimQuery{Worker: workers[0]})
	if err != nil {
		p.Fatal(err)
	}
	begin, last := none.Now, none.Now
	var at []time.Time
	died := false
	for {
		var next time.Time
		for i, worker := range workers {
			t, err := p.w.Claim(p.Context(), world.ClaimQuery{Worker: worker, Classes: []world.Class{{Workflow: "call", Version: 1}}, Runs: 1000})
			if err != nil {
				p.Fatal(err)
			}
			if t.Now.Sub(begin) >= p.span {
				return total, most(at)
			}
			for range t.Runs {
				total++
				at = append(at, t.Now)
				p.longest, last = max(p.longest, t.Now.Sub(last)), t.Now
			}
			if t.More {
				next = t.Now
			} else if !t.Next.IsZero() && (next.IsZero() || t.Next.Before(next)) {
				next = t.Next
			}
			if i == 0 && !died && t.Now.Sub(begin) > p.span/2 {
				died = true
				workers[0] = p.join() // who has it has died; what it claimed is its own until its lease is over
			}
		}
		if next.IsZero() {
			p.Fatalf("%d have begun, and nobody is told to come again", total)
		}
		p.until(next.Add(time.Duration(random.Int64N(int64(p.late) + 1))))
	}
}

// most is how many of some times, in their order, are in the second that has most of them.
func most(at []time.Time) (n int) {
	for first, i := 0, 0; i < len(at); i++ {
		for at[i].Sub(at[first]) >= time.Second {
			first++
		}
		n = max(n, i-first+1)
	}
	return n
}

// TestPace: over a minute, the rate is kept within one in a hundred, and never more than one in a hundred over it.
func TestPace(t *testing.T) {
	most, mostOnFile := 30_000, 2_000 // runs: a minute of ten thousand a second is a minute of a machine's time, too, and several on a file
	if sample.All() {
		most, mostOnFile = 600_000, 20_000
	}
	for _, number := range []int{1, 100, 10_000} {
		name := fmt.Sprintf("%d a second", number)
		keeps := func(t *testing.T, p *pace, most int) {
			t.Helper()
			p.TB, p.number, p.per, p.late = t, min(number, most/2), time.Second, 3*time.Millisecond
			p.span = min(time.Minute, time.Duration(most/p.number)*time.Second)
			want := int(p.span/time.Second) * p.number
			p.start(want + want/50 + 5)
			got, most := p.counted()
			t.Logf("%d in %s, want %d; at most %d in a second; at most %s between two", got, p.span, want, most, p.longest)
			if slack := want/100 + 1; got < want-slack || got > want+slack {
				t.Errorf("%d began in %s, want %d", got, p.span, want)
			}
		}
		t.Run("memory/"+name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				keeps(t, &pace{w: memory.New(), clock: time.Now, until: func(at time.Time) { time.Sleep(time.Until(at)) }}, most)
			})
		})
		t.Run("sqlite/"+name, func(t *testing.T) {
			t.Parallel()
			var now atomic.Pointer[time.Time]
			set := func(at time.Time) { now.Store(&at) }
			set(time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC))
			clock := func() time.Time { return *now.Load() }
			w, err := sqlite.Open(filepath.Join(t.TempDir(), "runs.db"), sqlite.Options{Now: clock})
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = w.Close() }()
			keeps(t, &pace{w: w, clock: clock, until: set}, mostOnFile)
		})
	}
}

// together is [pace.counted] for workers of several worlds of one store, each by itself. A rate makes up for a quarter of a
// second that was late (RateSlack of world/rules): of what passes between two claims that were given runs no more than that
// is of the span, and so a machine that is slow takes longer. It tells how long, and what of that the span was.
func (p *pace) together(worlds []world.World) (total, mostInOne int, took, asked time.Duration) {
	p.Helper()
	none, err := p.w.Claim(p.Context(), world.ClaimQuery{Worker: p.join()})
	if err != nil {
		p.Fatal(err)
	}
	var mu sync.Mutex
	var at []time.Time
	last, over := none.Now, none.Now
	// counts adds what a claim gave, unless the span is over.
	counts := func(t *world.Claimed) (more bool) {
		mu.Lock()
		defer mu.Unlock()
		if asked >= p.span || t.Now.Sub(none.Now) > time.Minute {
			return false
		}
		if t.Now.After(over) {
			over = t.Now
		}
		if d := t.Now.Sub(last); d > 0 && len(t.Runs) > 0 {
			asked, last = asked+min(d, 250*time.Millisecond), t.Now
		}
		for range t.Runs {
			at = append(at, t.Now)
		}
		return true
	}
	var wg sync.WaitGroup
	for _, w := range worlds {
		one := *p
		one.w = w
		worker := one.join()
		wg.Go(func() {
			for {
				t, err := w.Claim(p.Context(), world.ClaimQuery{Worker: worker, Classes: []world.Class{{Workflow: "call", Version: 1}}, Runs: 1000})
				if err != nil {
					p.Error(err)
					return
				}
				if !counts(&t) {
					return
				}
				if !t.More {
					p.until(t.Next)
				}
			}
		})
	}
	wg.Wait()
	slices.SortFunc(at, time.Time.Compare)
	return len(at), most(at), over.Sub(none.Now), asked
}

// TestPaceOfPostgres is the same by a server's own clock, for some seconds, with three programs that know nothing of
// each other: never more than one in a hundred over the rate, and no less than a slow machine can do.
func TestPaceOfPostgres(t *testing.T) { // not beside others, which would take the processor's time
	for number, least := range map[int]int{50: 150, 1000: 1000} { // of 200 and 4,000
		t.Run(fmt.Sprintf("%d a second", number), func(t *testing.T) {
			url := pgtest.URL(t)
			var worlds []world.World
			for range 3 {
				w, err := postgres.Open(t.Context(), url)
				if err != nil {
					t.Fatal(err)
				}
				defer func() { _ = w.Close() }()
				worlds = append(worlds, w)
			}
			p := &pace{TB: t, w: worlds[0], clock: time.Now, number: number, per: time.Second, span: 4 * time.Second}
			p.until = func(at time.Time) { <-time.After(min(time.Until(at), 10*time.Millisecond)) }
			p.start(5 * number)
			got, most, took, asked := p.together(worlds)
			want := int(took * time.Duration(number) / time.Second)
			t.Logf("%d in %s, want %d; at most %d in a second", got, took, want, most)
			if asked < p.span || got < least || got > want+want/100+1 {
				t.Errorf("%d began in %s, of which %s counts, want %d", got, took, asked, want)
			}
			// It makes up for a quarter of one where it lets in, and again where they begin.
			if mostAtOnce := number + number/2 + 1; most > mostAtOnce {
				t.Errorf("%d began in a second, want %d at most", most, mostAtOnce)
			}
		})
	}
}
