package main

// This file puts runs to sleep, waits for those that fall due, and measures.

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/world"
)

// scene says how many runs there are.
type scene struct {
	db                   string
	asleep, due, clients int
	every                time.Duration // between two that fall due
	store                *store
	app                  *stepwell.App
	nap                  *stepwell.Workflow[time.Time, time.Duration]
}

// Report is what it came to. Memory is that of the whole process, in bytes.
type Report struct {
	Created    time.Duration `json:"created"`   // until all of those that sleep long were asleep
	Counters   Counters      `json:"counters"`  // of the world while they were made
	DiskPerRun float64       `json:"disk"`      // bytes of the file and its journal, or of tables and indexes
	Tables     []Table       `json:"tables"`    // of a server, the largest first
	Idle       Memory        `json:"idle"`      // before the first run
	Asleep     Memory        `json:"asleep"`    // all asleep, as it was
	Collected  Memory        `json:"collected"` // and after a garbage collection
	Early      int           `json:"early"`     // runs that were claimed or went on before their time
	Disorder   int           `json:"disorder"`  // runs that were claimed after one that was due later
	Claims     int           `json:"claims"`    // of those that fell due
	Late       []float64     `json:"late"`      // ms from due to running again: p50, p99, most
	Took       []float64     `json:"took"`      // ms of a call that took runs which fell due: p50, p99, most
	ClaimNs    int64         `json:"claimNs"`   // a look for work with all of them asleep
}

// Memory is what a process holds.
type Memory struct {
	RSS        int64 `json:"rss"`
	Anonymous  int64 `json:"anonymous"` // of RSS: without pages of files
	Heap       int64 `json:"heap"`
	Goroutines int   `json:"goroutines"`
}

// Counters are those of world.Counters that tell about waste.
type Counters struct {
	Commits, Groups, Looks, Statements int64
}

func (s *scene) play(ctx context.Context) (rep Report, err error) {
	if s.store, err = openStore(ctx, s.db); err != nil {
		return rep, err
	}
	defer func() { err = errors.Join(err, s.store.raw.Close()) }()
	s.nap = stepwell.Define("nap", func(ctx stepwell.Context, until time.Time) (time.Duration, error) {
		if err := stepwell.SleepUntil(ctx, "nap", until); err != nil {
			return 0, err
		}
		return time.Since(until), nil //stepwell:allow time what it returns is for this measurement alone
	})
	cfg := stepwell.Config{Definitions: []stepwell.Definition{s.nap}, MaxRuns: s.clients + 10} // each start begins in place
	if s.app, err = stepwell.New(s.store.watched, cfg); err != nil {
		return rep, err
	}
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel()
	running.Go(func() {
		if e := s.app.Run(ctx); e != nil {
			fmt.Fprintln(os.Stderr, "sleepers:", e)
			cancel()
		}
	})
	err = s.measure(ctx, &rep)
	return rep, err
}

func (s *scene) measure(ctx context.Context, rep *Report) error {
	if err := s.create(ctx, 1, func(int) time.Time { return time.Now().Add(24 * time.Hour) }, nil); err != nil {
		return err
	}
	if err := s.settled(ctx); err != nil { // the worker has joined
		return err
	}
	rep.Idle = memory()
	before, err := s.store.raw.Stats(ctx)
	if err != nil {
		return err
	}
	began := time.Now()
	if err := s.create(ctx, s.asleep, func(int) time.Time { return began.Add(24 * time.Hour) }, nil); err != nil {
		return err
	}
	if err := s.settled(ctx); err != nil {
		return err
	}
	rep.Created = time.Since(began)
	after, err := s.store.raw.Stats(ctx)
	if err != nil {
		return err
	}
	a, b := after.Counters, before.Counters
	_, looks := s.store.log.since(0)
	rep.Counters = Counters{a.Commits - b.Commits, a.Groups - b.Groups, looks, a.Statements - b.Statements}
	if err := quiet(ctx); err != nil {
		return err
	}
	rep.Asleep = memory()
	if err := s.disk(ctx, rep); err != nil {
		return err
	}
	runtime.GC()
	rep.Collected = memory()
	if err := s.wake(ctx, rep); err != nil {
		return err
	}
	return s.look(ctx, rep)
}

// create starts n runs, and tells the IDs of those that it has created.
func (s *scene) create(ctx context.Context, n int, until func(i int) time.Time, created func(i int, id string)) error {
	errs := make([]error, s.clients)
	var next atomic.Int64
	var wg sync.WaitGroup
	for c := range s.clients {
		wg.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				run, err := s.nap.Start(ctx, s.app, until(i))
				if err != nil {
					errs[c] = err
					return
				}
				if created != nil {
					created(i, run.ID())
				}
			}
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

// disk notes what a run takes.
func (s *scene) disk(ctx context.Context, rep *Report) error {
	total, tables, err := s.store.size(ctx)
	rep.DiskPerRun = float64(total) / float64(s.asleep)
	for _, t := range tables {
		if t.PerRun /= float64(s.asleep); t.PerRun >= 1 {
			rep.Tables = append(rep.Tables, t)
		}
	}
	return err
}

// settled waits until no run is owned: all sleep.
func (s *scene) settled(ctx context.Context) error {
	for {
		st, err := s.store.raw.Stats(ctx)
		if err != nil {
			return err
		}
		if len(st.Workers) == 1 && st.Workers[0].Runs == 0 && st.Workflows[0].Pending == 0 {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// soon is when the first of the runs falls due: they must all be made by then.
const soon = 5 * time.Second

// wake makes runs that fall due one after the other, in an order of chance, and looks at how they were woken.
func (s *scene) wake(ctx context.Context, rep *Report) error {
	first := time.Now().Add(soon).UTC().Truncate(time.Microsecond)
	place := rand.Perm(s.due)
	at := func(i int) time.Time { return first.Add(time.Duration(place[i]) * s.every) }
	ids := make([]string, s.due)
	if err := s.create(ctx, s.due, at, func(i int, id string) { ids[i] = id }); err != nil {
		return err
	}
	if err := s.settled(ctx); err != nil {
		return err
	}
	before, _ := s.store.log.since(0) // some were taken once already: they were not begun in place
	if late := time.Since(first); late > 0 {
		return fmt.Errorf("the runs that were to fall due took %s to be made", late+soon)
	}
	due := map[string]time.Time{}
	for i, id := range ids {
		due[id] = at(i)
	}
	var late []float64
	for _, id := range ids {
		d, err := s.nap.Get(s.app, id).Result(ctx)
		if err != nil {
			return err
		}
		if d < 0 {
			rep.Early++
		}
		late = append(late, float64(d)/1e6)
	}
	rep.Late = spread(late)
	claimed, _ := s.store.log.since(len(before))
	var last time.Time
	var took []float64
	for _, t := range claimed {
		at := due[t.run] // the zero time where another run was claimed: early
		rep.Claims++
		took = append(took, float64(t.took)/1e6)
		if at.IsZero() || t.at.Before(at) {
			rep.Early++
		}
		if at.Before(last) {
			rep.Disorder++
		}
		last = at
	}
	rep.Took = spread(took)
	return nil
}

// look measures a look for work that finds nothing.
func (s *scene) look(ctx context.Context, rep *Report) error {
	st, err := s.store.raw.Stats(ctx)
	if err != nil {
		return err
	}
	q := world.ClaimQuery{Worker: st.Workers[0].ID, Classes: st.Workers[0].Classes, Runs: 1}
	const looks = 200
	began := time.Now()
	for range looks {
		if t, err := s.store.raw.Claim(ctx, q); err != nil || len(t.Runs) > 0 {
			return fmt.Errorf("a look for work found %d runs: %w", len(t.Runs), err)
		}
	}
	rep.ClaimNs = time.Since(began).Nanoseconds() / looks
	return nil
}

// quiet waits until goroutines that are about to end have ended: their number has not changed for a while.
func quiet(ctx context.Context) error {
	for last, same := -1, 0; same < 25; {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(20 * time.Millisecond):
		}
		if n := runtime.NumGoroutine(); n == last {
			same++
		} else {
			last, same = n, 0
		}
	}
	return nil
}

// memory reads what this process holds; RSS is 0 where the system does not tell.
func memory() Memory {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	out := Memory{Heap: int64(m.HeapAlloc), Goroutines: runtime.NumGoroutine()}
	b, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return out
	}
	for line := range strings.Lines(string(b)) {
		for name, to := range map[string]*int64{"VmRSS:": &out.RSS, "RssAnon:": &out.Anonymous} {
			if rest, ok := strings.CutPrefix(line, name); ok {
				kb, _ := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
				*to = kb << 10
			}
		}
	}
	return out
}
