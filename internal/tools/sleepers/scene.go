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
	"github.com/stepwell/stepwell/world/sqlite"
)

// scene says how many runs there are.
type scene struct {
	path                 string
	asleep, due, clients int
	world                *watched
	app                  *stepwell.App
	nap                  *stepwell.Workflow[time.Time, time.Duration]
}

// Report is what it came to. Memory is that of the whole process, in bytes.
type Report struct {
	Created    time.Duration `json:"created"`   // until all of those that sleep long were asleep
	Counters   Counters      `json:"counters"`  // of the world while they were made
	DiskPerRun float64       `json:"disk"`      // bytes of the file and its journal
	Idle       Memory        `json:"idle"`      // before the first run
	Asleep     Memory        `json:"asleep"`    // all asleep, as it was
	Collected  Memory        `json:"collected"` // and after a garbage collection
	Early      int           `json:"early"`     // runs that were taken or went on before their time
	Disorder   int           `json:"disorder"`  // runs that were taken after one that was due later
	Takes      int           `json:"takes"`     // of those that fell due
	Late       []float64     `json:"late"`      // ms from due to running again: p50, p99, most
	TakeNs     int64         `json:"takeNs"`    // a look for work with all of them asleep
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

// watched notes in which order runs are given to the worker.
type watched struct {
	*sqlite.World
	mu    sync.Mutex
	calls int64
	taken []taking
}

// taking is a run that was given to the worker.
type taking struct {
	run string
	at  time.Time
}

// Take is the world's, noted.
func (w *watched) Take(ctx context.Context, q world.TakeQuery) (world.Taken, error) {
	t, err := w.World.Take(ctx, q)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.calls++
	for _, r := range t.Runs {
		w.taken = append(w.taken, taking{r.Run, time.Now()})
	}
	return t, err
}

// since returns what was given after the first n runs, and how many looks for work there were.
func (w *watched) since(n int) (taken []taking, looks int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.taken[n:], w.calls
}

func (s *scene) play(ctx context.Context) (rep Report, err error) {
	file, err := sqlite.Open(s.path)
	if err != nil {
		return rep, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	s.world = &watched{World: file}
	s.nap = stepwell.Define("nap", func(ctx stepwell.Context, until time.Time) (time.Duration, error) {
		if err := stepwell.SleepUntil(ctx, "nap", until); err != nil {
			return 0, err
		}
		return time.Since(until), nil // what it returns is for this measurement alone
	})
	if s.app, err = stepwell.New(s.world, stepwell.Config{Definitions: []stepwell.Definition{s.nap}}); err != nil {
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
	return rep, s.measure(ctx, &rep)
}

func (s *scene) measure(ctx context.Context, rep *Report) error {
	if _, err := s.bear(ctx, 1, func(int) time.Time { return time.Now().Add(24 * time.Hour) }); err != nil { // the worker has joined
		return err
	}
	rep.Idle = memory()
	before, err := s.world.Stats(ctx)
	if err != nil {
		return err
	}
	began := time.Now()
	if _, err := s.bear(ctx, s.asleep, func(int) time.Time { return began.Add(24 * time.Hour) }); err != nil {
		return err
	}
	if err := s.settled(ctx); err != nil {
		return err
	}
	rep.Created = time.Since(began)
	after, err := s.world.Stats(ctx)
	if err != nil {
		return err
	}
	a, b := after.Counters, before.Counters
	_, looks := s.world.since(0)
	rep.Counters = Counters{a.Commits - b.Commits, a.Groups - b.Groups, looks, a.Statements - b.Statements}
	if err := quiet(ctx); err != nil {
		return err
	}
	rep.Asleep = memory()
	rep.DiskPerRun = float64(size(s.path)+size(s.path+"-wal")) / float64(s.asleep)
	runtime.GC()
	rep.Collected = memory()
	if err := s.wake(ctx, rep); err != nil {
		return err
	}
	return s.look(ctx, rep)
}

// bear starts n runs and returns their IDs.
func (s *scene) bear(ctx context.Context, n int, until func(i int) time.Time) ([]string, error) {
	ids, errs := make([]string, n), make([]error, s.clients)
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
				ids[i] = run.ID()
			}
		})
	}
	wg.Wait()
	return ids, errors.Join(errs...)
}

// settled waits until no run is owned: all sleep.
func (s *scene) settled(ctx context.Context) error {
	for {
		st, err := s.world.Stats(ctx)
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

// wake makes runs that fall due a millisecond after each other, in an order of chance, and looks at how they were woken.
func (s *scene) wake(ctx context.Context, rep *Report) error {
	first := time.Now().Add(soon).UTC().Truncate(time.Microsecond)
	place := rand.Perm(s.due)
	at := func(i int) time.Time { return first.Add(time.Duration(place[i]) * time.Millisecond) }
	ids, err := s.bear(ctx, s.due, at)
	if err != nil {
		return err
	}
	if err := s.settled(ctx); err != nil {
		return err
	}
	before, _ := s.world.since(0) // some were taken once already: they were not begun in place
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
	taken, _ := s.world.since(len(before))
	var last time.Time
	for _, t := range taken {
		at := due[t.run] // the zero time where another run was taken: early
		rep.Takes++
		if at.IsZero() || t.at.Before(at) {
			rep.Early++
		}
		if at.Before(last) {
			rep.Disorder++
		}
		last = at
	}
	return nil
}

// look measures a look for work that finds nothing.
func (s *scene) look(ctx context.Context, rep *Report) error {
	st, err := s.world.Stats(ctx)
	if err != nil {
		return err
	}
	q := world.TakeQuery{Worker: st.Workers[0].ID, Classes: st.Workers[0].Classes, Runs: 1}
	const looks = 200
	began := time.Now()
	for range looks {
		if t, err := s.world.World.Take(ctx, q); err != nil || len(t.Runs) > 0 {
			return fmt.Errorf("a look for work found %d runs: %w", len(t.Runs), err)
		}
	}
	rep.TakeNs = time.Since(began).Nanoseconds() / looks
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

func size(path string) int64 {
	info, err := os.Stat(path)
	if err != nil {
		return 0
	}
	return info.Size()
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
