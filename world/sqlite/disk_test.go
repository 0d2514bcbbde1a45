package sqlite

// Faults of the disk, by a file system below SQLite: each call fails in turn, and the power is cut at any moment. No acknowledged commit is lost, the file stays whole, and the
// world goes on, or says why it does not. A seed that is printed reproduces what is drawn by chance; make soak draws more.

import (
	"context"
	"database/sql/driver"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stepwell/stepwell/internal/faultvfs"
	"github.com/stepwell/stepwell/world"
)

var (
	diskSeed  = flag.Uint64("disk.seed", 0, "the seed of the faults of disks; 0: another each time")
	diskCases = flag.Int("disk.cases", 1, "times the usual number of faults and power cuts")
)

func seedOf(t testing.TB) uint64 {
	seed := *diskSeed
	if seed == 0 {
		seed = rand.Uint64()
	}
	t.Logf("-disk.seed=%d", seed)
	return seed
}

func newDisk(t testing.TB, seed uint64) *faultvfs.Disk {
	t.Helper()
	d, err := faultvfs.New(seed)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// on is the options of a world on a disk. Its log is small, so that it is copied often.
func on(d *faultvfs.Disk) Options {
	return Options{CheckpointSize: 64 << 10, Readers: 2, vfs: d.Name(), openLog: func(path string) (logFile, error) { return d.OpenFile(path) }}
}

// ledger is what a world has acknowledged: how many events each run has at least.
type ledger struct {
	mu   sync.Mutex
	runs map[string]int64 // guarded by mu
}

func (l *ledger) acknowledged(run string, seq int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.runs[run] = max(l.runs[run], seq)
}

func (l *ledger) copy() map[string]int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	c := make(map[string]int64, len(l.runs))
	for run, seq := range l.runs {
		c[run] = seq
	}
	return c
}

// reader is a read of the world that lasts, so that checkpoints copy only a part of the log.
type reader struct {
	w          *World
	over, done chan struct{} // nil: nobody reads
}

func (r *reader) begin() {
	if r.done != nil {
		return
	}
	r.over, r.done = make(chan struct{}), make(chan struct{})
	over, done, reads := r.over, r.done, make(chan struct{})
	go func() {
		defer close(done)
		_ = r.w.read(context.Background(), func(c *conn) error {
			defer close(reads)
			run := func(text string) { _, _ = c.raw.(driver.ExecerContext).ExecContext(context.Background(), text, nil) }
			run("BEGIN")
			_, _ = c.one(countTables, func(row) error { return nil })
			reads <- struct{}{}
			<-over
			run("ROLLBACK")
			return nil
		})
	}()
	select {
	case <-reads:
	case <-done:
	}
}

func (r *reader) end() {
	if r.done != nil {
		close(r.over)
		<-r.done
		r.over, r.done = nil, nil
	}
}

// tries is how often a commit is tried on a disk that failed.
const tries = 200

// surely commits as an engine does: it asks after an unknown outcome, and tries again what the disk refused.
func surely(w *World, c *world.Commit, reads *reader) error {
	var err error
	for try := range tries {
		if try > 0 {
			reads.end() // the world cannot be mended meanwhile
		}
		if _, err = w.Commit(context.Background(), c); errors.Is(err, world.ErrUnknownOutcome) {
			for range tries {
				if _, err = w.Outcome(context.Background(), c); err == nil || errors.Is(err, world.ErrNotFound) || errors.Is(err, world.ErrLeaseLost) {
					break
				}
			}
			if errors.Is(err, world.ErrNotFound) {
				continue
			}
		}
		if err == nil || !errors.Is(err, world.ErrStorage) || errors.Is(err, world.ErrReplaced) {
			return err
		}
	}
	return err
}

// work creates runs and takes their steps, with what need not be durable between, and notes what was acknowledged.
func work(w *World, l *ledger, rnd *rand.Rand, runs, steps int) error {
	ctx := context.Background()
	wk := world.Worker{ID: world.NewID(world.PrefixWorker, time.Now()), Name: "disk", Build: "b1", Lease: time.Hour, Classes: []world.Class{class1}}
	var err error
	for range tries {
		if _, err = w.Join(ctx, wk); err == nil || errors.Is(err, world.ErrReplaced) {
			break
		}
		if errors.Is(err, world.ErrUnknownOutcome) || errors.Is(err, world.ErrConflict) {
			wk.ID = world.NewID(world.PrefixWorker, time.Now())
		}
	}
	if err != nil {
		return fmt.Errorf("join: %w", err)
	}
	reads := &reader{w: w}
	defer reads.end()
	first := len(l.copy())
	for i := range runs {
		run := fmt.Sprintf("r%d", first+i)
		c := eager(run, "w", wk.ID)
		c.Events[0].Payload = make([]byte, 0, 4096)
		c.Events[0].Payload = fmt.Appendf(c.Events[0].Payload, `"%0*d"`, 100+rnd.IntN(3000), i)
		if err := surely(w, c, reads); err != nil {
			return fmt.Errorf("birth of %s: %w", run, err)
		}
		l.acknowledged(run, 2)
		for n := range int64(steps) {
			if rnd.IntN(2) == 0 { // a lazy group
				_, _ = askFor(ctx, w, true, func(g *group) (int, error) {
					return 0, g.tx.exec(heartbeatWorker, g.workers.key(wk.ID), g.tx.now().Add(time.Hour).UnixMicro())
				})
			}
			switch rnd.IntN(6) {
			case 0:
				reads.begin()
			case 1:
				reads.end()
			}
			if err := surely(w, stepCommit(run, wk.ID, n), reads); err != nil {
				return fmt.Errorf("step %d of %s: %w", n, run, err)
			}
			l.acknowledged(run, 5+3*n)
		}
	}
	return nil
}

// whole checks a file that nobody has open: it opens, it is not damaged, and it has all that was acknowledged.
func whole(path string, acknowledged map[string]int64) error {
	w, err := Open(path)
	if err != nil {
		return err
	}
	defer func() { _ = w.Close() }()
	return has(w, acknowledged)
}

func has(w *World, acknowledged map[string]int64) error {
	c, err := w.connect()
	if err != nil {
		return err
	}
	text := ""
	_, err = c.one(&statement{name: "integrity_check", text: "PRAGMA integrity_check", index: 0}, func(r row) error { text = r.text(0); return nil })
	if err := errors.Join(err, c.close()); err != nil {
		return err
	}
	if text != "ok" {
		return fmt.Errorf("integrity check: %s", text)
	}
	for run, seq := range acknowledged {
		got := int64(0)
		for q := (world.EventQuery{}); ; {
			page, err := w.Events(context.Background(), run, q)
			if err != nil {
				return fmt.Errorf("run %s, acknowledged up to event %d: %w", run, seq, err)
			}
			got += int64(len(page.Events))
			if q.Cursor = page.Cursor; !page.More {
				break
			}
		}
		if got < seq {
			return fmt.Errorf("run %s has %d events, and %d were acknowledged", run, got, seq)
		}
	}
	return nil
}

// Each kind of call fails, once or for a while, at numbers by chance. What was acknowledged is there, at once and after the next start, and the world goes on.
func TestEachCallOfTheDiskFails(t *testing.T) {
	t.Parallel()
	seed := seedOf(t)
	rnd := rand.New(rand.NewPCG(seed, 1))
	for _, op := range faultvfs.Ops {
		for _, kind := range []string{"EIO", "ENOSPC"} {
			if kind == "ENOSPC" && faultvfs.NoSpace(op) == 0 {
				continue
			}
			for i := range 4 * *diskCases {
				seed, share, fails := rnd.Uint64(), rnd.Float64(), 1
				if i%3 == 2 {
					fails = 1 + rnd.IntN(20)
				}
				t.Run(fmt.Sprintf("%s/%s/%d", op, kind, i), func(t *testing.T) {
					t.Parallel()
					fails1(t, seed, op, kind == "ENOSPC", share, fails)
				})
			}
		}
	}
}

func fails1(t *testing.T, seed uint64, op faultvfs.Op, full bool, share float64, fails int) {
	const runs, steps = 6, 4
	d := newDisk(t, seed)
	path := filepath.Join(t.TempDir(), "runs.db")
	w, err := Open(path, on(d))
	if err != nil {
		t.Fatal(err)
	}
	l := &ledger{runs: map[string]int64{}}
	d.Plan(nil)
	if err := work(w, l, rand.New(rand.NewPCG(seed, 2)), runs, steps); err != nil {
		t.Fatal(err)
	}
	at := 1 + int(share*float64(d.Calls(op))) // within what the same work calls again, about
	code := faultvfs.InputOutput(op)
	if full {
		code = faultvfs.NoSpace(op)
	}
	d.Plan(func(c faultvfs.Call) int {
		if c.Op == op && c.N >= at && c.N < at+fails {
			return code
		}
		return 0
	})
	if err := work(w, l, rand.New(rand.NewPCG(seed, 2)), runs, steps); err != nil {
		t.Errorf("%d × %s at call %d: %v", fails, op, at, err)
	}
	d.Plan(nil)
	if err := has(w, l.copy()); err != nil {
		t.Errorf("%d × %s at call %d: while open: %v", fails, op, at, err)
	}
	if err := w.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
	if err := whole(path, l.copy()); err != nil {
		t.Errorf("%d × %s at call %d: %v", fails, op, at, err)
	}
}

// The power is cut at any call, while syncs fail now and then, in commits and in checkpoints: whatever of the writes that were not synced is there, torn or whole, the file
// opens, is not damaged, and has what was acknowledged.
func TestPowerCuts(t *testing.T) {
	t.Parallel()
	seed := seedOf(t)
	rnd := rand.New(rand.NewPCG(seed, 3))
	for i := range 3 * *diskCases {
		seed, faulty := rnd.Uint64(), i%3 > 0
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			cuts(t, seed, faulty)
		})
	}
}

func cuts(t *testing.T, seed uint64, faulty bool) {
	rnd := rand.New(rand.NewPCG(seed, 4))
	d := newDisk(t, seed)
	w, err := Open(filepath.Join(t.TempDir(), "runs.db"), on(d))
	if err != nil {
		t.Fatal(err)
	}
	l := &ledger{runs: map[string]int64{}}
	var images []string
	var acknowledged []map[string]int64
	dir, faults := t.TempDir(), 0
	d.Plan(func(c faultvfs.Call) int {
		changes := c.Op == faultvfs.Write || c.Op == faultvfs.Sync || c.Op == faultvfs.Truncate
		if changes && rnd.IntN(60) == 0 && len(images) < 40 {
			image := filepath.Join(dir, fmt.Sprint(len(images)))
			if err := errors.Join(os.Mkdir(image, 0o700), c.Cut(image)); err != nil {
				t.Error(err)
			}
			images, acknowledged = append(images, filepath.Join(image, "runs.db")), append(acknowledged, l.copy())
		}
		share := 12 // syncs of the file itself are few
		if c.Kind == faultvfs.Main {
			share = 3
		}
		if faulty && c.Op == faultvfs.Sync && rnd.IntN(share) == 0 {
			faults++
			return faultvfs.InputOutput(c.Op)
		}
		return 0
	})
	err = work(w, l, rand.New(rand.NewPCG(seed, 2)), 25, 6)
	d.Plan(nil)
	if err != nil && !errors.Is(err, world.ErrReplaced) {
		t.Errorf("work: %v", err)
	}
	if err := w.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
	if len(images) < 10 || faulty && faults == 0 {
		t.Errorf("got %d images and %d syncs that failed: too few to say anything", len(images), faults)
	}
	for i, image := range images {
		if err := whole(image, acknowledged[i]); err != nil {
			t.Errorf("image %d of %d: %v", i, len(images), err)
		}
	}
}
