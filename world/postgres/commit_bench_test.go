package postgres

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/stepwell/stepwell/internal/pgtest"
	"github.com/stepwell/stepwell/world"
)

// BenchmarkCommit measures runs of ten steps, K side by side: a commit for each birth, step (completed, the next created, started; payloads of about 50
// bytes) and end. An operation is a step, births and ends included. The server is one of its own, with its defaults and with fsync on.
func BenchmarkCommit(b *testing.B) {
	server := pgtest.New(b, pgtest.Config{})
	for _, k := range []int{1, 8, 64, 256} {
		b.Run(fmt.Sprintf("runs=%d", k), func(b *testing.B) { benchCommit(b, server.URL(b), k, 10) })
	}
}

// BenchmarkCommitEndless is the same with runs that do not end: each has its own page of the index.
func BenchmarkCommitEndless(b *testing.B) {
	benchCommit(b, pgtest.New(b, pgtest.Config{}).URL(b), 256, 1<<40)
}

func benchCommit(b *testing.B, url string, k int, steps int64) {
	w, err := Open(b.Context(), url)
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = w.Close() }()
	wk := join(b, w, time.Hour, class1)
	var left atomic.Int64
	left.Store(int64(b.N))
	before := w.counters.read()
	b.ResetTimer()
	var wg sync.WaitGroup
	for range k {
		wg.Go(func() {
			for left.Load() > 0 {
				if err := benchRun(b, w, world.NewID(world.PrefixRun, time.Now()), wk.ID, steps, &left); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	b.StopTimer()
	after := w.counters.read()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "steps/s")
	b.ReportMetric(float64(after.Commits-before.Commits)/float64(max(after.Groups-before.Groups, 1)), "commits/group")
	b.ReportMetric(float64(after.Statements-before.Statements)/float64(b.N), "statements/step")
}

func benchRun(b *testing.B, w *World, run, worker string, steps int64, left *atomic.Int64) error {
	if _, err := w.Commit(b.Context(), eager(run, "w", worker)); err != nil {
		return err
	}
	n := int64(0)
	for ; n < steps && left.Add(-1) >= 0; n++ {
		if _, err := w.Commit(b.Context(), benchStep(run, worker, n)); err != nil {
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

func benchStep(run, worker string, n int64) *world.Commit {
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

// BenchmarkFloor writes the rows of BenchmarkCommit with nothing around them, on one connection: 256 a transaction, one statement each.
func BenchmarkFloor(b *testing.B) {
	w, err := Open(b.Context(), pgtest.New(b, pgtest.Config{}).URL(b))
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = w.Close() }()
	c, err := pgx.ConnectConfig(b.Context(), w.cfg.ConnConfig.Copy())
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = c.Close(b.Context()) }()
	first := rand.Int64() >> 8
	b.ResetTimer()
	for i := 0; i < b.N; i += 256 {
		var s sheet
		for k := range int64(256) {
			step := benchStep("r", "", 0)
			head, body, err := encode(step.ID, "build-1", step.Events[0].Time, step.Events)
			if err != nil {
				b.Fatal(err)
			}
			s.log = append(s.log, logRow{run: first + int64(i/2560)*256 + k, seq: int64(i/256%10) * 3, n: 3, head: head, body: body})
		}
		script := script{db: &w.database}
		script.write(&s)
		if err := c.SendBatch(b.Context(), script.batch()).Close(); err != nil {
			b.Fatal(err)
		}
	}
	b.StopTimer()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "steps/s")
}
