package main

// This file plays the scene: a parent, its children, and somebody who looks at the memory now and then.

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"runtime/metrics"
	"runtime/pprof"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/world/sqlite"
)

// scene says how many children there are, and how they are started.
type scene struct {
	db             string
	n              int
	inMap, waiting bool
	profile        string
}

// Report is what it came to; memory is in bytes.
type Report struct {
	Took       time.Duration `json:"took"`
	Idle       Memory        `json:"idle"`    // before the parent started
	Peak       Memory        `json:"peak"`    // the most of each that a sample showed; RSS is the system's own
	Waiting    Memory        `json:"waiting"` // while all children wait, after a garbage collection
	After      Memory        `json:"after"`   // all over, after a garbage collection
	Commits    int64         `json:"commits"`
	Statements int64         `json:"statements"`
}

// Memory is what a process holds.
type Memory struct {
	RSS        int64 `json:"rss"`
	Anonymous  int64 `json:"anonymous"` // of RSS: without pages of files
	Heap       int64 `json:"heap"`      // objects, live or not collected yet
	Live       int64 `json:"live"`      // objects that the last garbage collection found in use
	Stacks     int64 `json:"stacks"`
	Goroutines int64 `json:"goroutines"`
}

func (s *scene) play(ctx context.Context) (rep Report, err error) {
	w, err := sqlite.Open(s.db)
	if err != nil {
		return rep, err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	goes := stepwell.Event[int]("go")
	leaf := stepwell.Define("leaf", func(ctx stepwell.Context, i int) (int, error) {
		if s.waiting {
			if _, _, err := goes.Wait(ctx); err != nil {
				return 0, err
			}
		}
		return stepwell.Step(ctx, "one", func(context.Context) (int, error) { return i, nil })
	})
	parent := stepwell.Define("parent", func(ctx stepwell.Context, n int) (int, error) { return s.parent(ctx, leaf, n) })
	app, err := stepwell.New(w, stepwell.Config{Definitions: []stepwell.Definition{parent, leaf}})
	if err != nil {
		return rep, err
	}
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel()
	running.Go(func() {
		if e := app.Run(ctx); e != nil {
			fmt.Fprintln(os.Stderr, "children:", e)
			cancel()
		}
	})
	if err := s.settled(ctx, w, 0); err != nil {
		return rep, err
	}
	rep.Idle = collected()
	watched, stop := context.WithCancel(ctx)
	defer stop()
	running.Go(func() { s.watch(watched, &rep.Peak) })
	began := time.Now()
	run, err := parent.Start(ctx, app, s.n)
	if err != nil {
		return rep, err
	}
	if s.waiting {
		if err := s.settled(ctx, w, s.n+1); err != nil {
			return rep, err
		}
		rep.Took = time.Since(began)
		stop()
		rep.Waiting = collected()
	} else {
		sum, err := run.Result(ctx)
		if err != nil {
			return rep, err
		}
		if want := s.n * (s.n - 1) / 2; sum != want {
			return rep, fmt.Errorf("the children made %d, want %d", sum, want)
		}
		rep.Took = time.Since(began)
		stop()
	}
	st, err := w.Stats(ctx)
	rep.Commits, rep.Statements = st.Counters.Commits, st.Counters.Statements
	rep.After = collected()
	rep.Peak.RSS = max(rep.Peak.RSS, status("VmHWM:"))
	return rep, err
}

// parent is the code of the parent: it adds up what its children return.
func (s *scene) parent(ctx stepwell.Context, leaf *stepwell.Workflow[int, int], n int) (int, error) {
	var results []int
	var err error
	if s.inMap {
		items := make([]int, n)
		for i := range items {
			items[i] = i
		}
		results, err = stepwell.Map(ctx, items, 0, func(ctx stepwell.Context, i int) (int, error) { return leaf.Child().Run(ctx, i) })
	} else {
		futures := make([]*stepwell.Future[int], n)
		for i := range futures {
			futures[i] = leaf.Child().Start(ctx, i).Future
		}
		results, err = stepwell.All(ctx, futures...)
	}
	sum := 0
	for _, r := range results {
		sum += r
	}
	return sum, err
}

// settled waits until the worker has joined, owns no run, and so many runs wait.
func (s *scene) settled(ctx context.Context, w *sqlite.World, runs int) error {
	for {
		st, err := w.Stats(ctx)
		if err != nil {
			return err
		}
		waiting := 0
		for _, f := range st.Workflows {
			if f.Pending == 0 {
				waiting += int(f.Running)
			}
		}
		if len(st.Workers) == 1 && st.Workers[0].Runs == 0 && waiting == runs {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// watch notes the most of all samples.
func (s *scene) watch(ctx context.Context, peak *Memory) {
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	var profiled int64
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		m := memory()
		if s.profile != "" && m.Live > profiled+profiled/20+1<<20 {
			profiled = m.Live
			var b bytes.Buffer
			_ = pprof.Lookup("heap").WriteTo(&b, 0) // of the last garbage collection
			_ = os.WriteFile(s.profile, b.Bytes(), 0o600)
		}
		peak.RSS, peak.Anonymous, peak.Heap = max(peak.RSS, m.RSS), max(peak.Anonymous, m.Anonymous), max(peak.Heap, m.Heap)
		peak.Live = max(peak.Live, m.Live)
		peak.Stacks, peak.Goroutines = max(peak.Stacks, m.Stacks), max(peak.Goroutines, m.Goroutines)
	}
}

func collected() Memory {
	runtime.GC()
	runtime.GC() // what finalizers and pools let go
	return memory()
}

// memory reads what this process holds, without stopping it; RSS is 0 where the system does not tell.
func memory() Memory {
	samples := []metrics.Sample{
		{Name: "/memory/classes/heap/objects:bytes"}, {Name: "/memory/classes/heap/stacks:bytes"}, {Name: "/sched/goroutines:goroutines"}, {Name: "/gc/heap/live:bytes"},
	}
	metrics.Read(samples)
	return Memory{
		RSS: status("VmRSS:"), Anonymous: status("RssAnon:"), Heap: int64(samples[0].Value.Uint64()), Stacks: int64(samples[1].Value.Uint64()),
		Goroutines: int64(samples[2].Value.Uint64()), Live: int64(samples[3].Value.Uint64()),
	}
}

// status is a line of /proc/self/status, in bytes.
func status(name string) int64 {
	b, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(b)) {
		if rest, ok := strings.CutPrefix(line, name); ok {
			kb, _ := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
			return kb << 10
		}
	}
	return 0
}
