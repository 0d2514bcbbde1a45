package sqlite

import (
	"encoding/json"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/layout"
)

// BenchmarkCommit measures runs of ten steps, K side by side: a commit for each birth, step (completed, the next created, started;
// payloads of about 50 bytes) and end. An operation is a step, births and ends included.
func BenchmarkCommit(b *testing.B) {
	for _, k := range []int{1, 8, 64, 256} {
		b.Run(fmt.Sprintf("runs=%d", k), func(b *testing.B) { benchCommit(b, k, 10) })
	}
}

// BenchmarkCommitEndless is the same with runs that do not end: each has its own page of the index.
func BenchmarkCommitEndless(b *testing.B) { benchCommit(b, 256, 1<<40) }

func benchCommit(b *testing.B, k int, steps int64) {
	w := open(b)
	wk := join(b, w, time.Hour, class1)
	var left atomic.Int64
	left.Store(int64(b.N))
	before := cpuTime()
	b.ResetTimer()
	var wg sync.WaitGroup
	for i := range k {
		wg.Go(func() {
			for n := 0; left.Load() > 0; n++ {
				if err := benchRun(b, w, fmt.Sprintf("wrun_%d-%d", i, n), wk.ID, steps, &left); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	b.StopTimer()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "steps/s")
	b.ReportMetric(float64((cpuTime()-before).Microseconds())/float64(b.N), "µs-CPU/step")
	stats, err := w.Stats(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(stats.Counters.Commits)/float64(stats.Counters.Groups), "commits/group")
	b.ReportMetric(float64(stats.Counters.Statements)/float64(b.N), "statements/step")
}

func benchRun(b *testing.B, w *World, run, worker string, steps int64, left *atomic.Int64) error {
	if _, err := w.Commit(b.Context(), eager(run, "w", worker)); err != nil {
		return err
	}
	n := int64(0)
	for ; n < steps && left.Add(-1) >= 0; n++ {
		if _, err := w.Commit(b.Context(), stepCommit(run, worker, n)); err != nil {
			return err
		}
	}
	_, err := w.Commit(b.Context(), &world.Commit{
		ID: commitID(), Run: run, Worker: worker, Claim: 1, Build: "build-1", First: 3 + 3*n, Events: []world.Event{
			{Type: world.RunCompleted, Time: world.Now(), Payload: json.RawMessage(`{"order":"A-17","state":"done"}`)},
		},
	})
	return err
}

func stepCommit(run, worker string, n int64) *world.Commit {
	now := world.Now()
	id := func(n int64) string {
		return world.CorrelationID(run, now, world.Key{Kind: world.KindClosure, Name: "charge", Occurrence: int(n)})
	}
	next := id(n + 1)
	return &world.Commit{
		ID: commitID(), Run: run, Worker: worker, Claim: 1, Build: "build-1", First: 3 + 3*n, Events: []world.Event{
			{Type: world.StepCompleted, Time: now, ID: id(n), Attempt: 1, Payload: json.RawMessage(`{"order":"A-17","state":"charged","amount":1299}`)},
			{Type: world.StepCreated, Time: now, ID: next, Kind: world.KindClosure, Name: "charge", Occurrence: int(n + 1), Payload: json.RawMessage(`{"order":"A-17"}`)},
			{Type: world.StepStarted, Time: now, ID: next, Attempt: 1},
		},
	}
}

// BenchmarkFloor writes the rows of BenchmarkCommit with nothing around them: 256 a transaction, one statement each.
func BenchmarkFloor(b *testing.B) {
	w := open(b)
	c, err := w.connect()
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = c.close() }()
	before := cpuTime()
	b.ResetTimer()
	front, body := make([]byte, 0, 1024), make([]byte, 0, 1024)
	for i := 0; i < b.N; i += 256 {
		if _, err := c.exec(begin); err != nil {
			b.Fatal(err)
		}
		for k := range int64(256) {
			step := stepCommit("r", "", 0)
			front, body, _ = layout.AppendRow(front[:0], body[:0], step.ID, "build-1", step.Events[0].Time, step.Events)
			run, seq := int64(i/2560)*256+k, int64(i/256%10)*3
			if _, err := c.exec(insertLog, run, seq, int64(3), int64(1), text(front), body); err != nil {
				b.Fatal(err)
			}
		}
		if _, err := c.exec(commit); err != nil {
			b.Fatal(err)
		}
		if i%(256*40) == 0 {
			_, _ = c.one(walPassive, func(row) error { return nil })
		}
	}
	b.StopTimer()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "steps/s")
	b.ReportMetric(float64((cpuTime()-before).Microseconds())/float64(b.N), "µs-CPU/step")
}
