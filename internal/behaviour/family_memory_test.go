package behaviour_test

// What a parent of many children holds of them.

import (
	"bytes"
	"context"
	"encoding/json"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
	"weak"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/sqlite"
)

// cradle is a world that looks at births: whether somebody still holds those of earlier commits.
type cradle struct {
	*sqlite.World
	mu      sync.Mutex
	created []weak.Pointer[world.Commit]
	parts   int // commits with births
	held    int // the most births of earlier commits that were held when one came
}

// Commit is the world's, and looks first.
func (w *cradle) Commit(ctx context.Context, c *world.Commit) (world.Committed, error) {
	if len(c.Births) > 0 {
		w.look(c.Births)
	}
	return w.World.Commit(ctx, c)
}

func (w *cradle) look(births []*world.Commit) {
	runtime.GC()
	w.mu.Lock()
	defer w.mu.Unlock()
	held := 0
	for _, b := range w.created {
		if b.Value() != nil {
			held++
		}
	}
	w.parts, w.held = w.parts+1, max(w.held, held)
	for _, b := range births {
		w.created = append(w.created, weak.Make(b))
	}
}

// TestBirthsAreHeldUntilTheyAreWritten: a turn that creates more children than a commit has room for holds the births of one commit at a time.
func TestBirthsAreHeldUntilTheyAreWritten(t *testing.T) {
	const children = 2000
	w := &cradle{World: openFile(t, filepath.Join(t.TempDir(), "runs.db"))}
	leaf := stepwell.Define("leaf", func(_ stepwell.Context, in string) (int, error) { return len(in), nil })
	parent := stepwell.Define("parent", func(ctx stepwell.Context, n int) (int, error) {
		in := strings.Repeat("x", 3000)
		fs := make([]*stepwell.Future[int], n)
		for i := range fs {
			fs[i] = leaf.Child().Start(ctx, in).Future
		}
		got, err := stepwell.All(ctx, fs...)
		return len(got), err
	})
	app := work(t, w, stepwell.Config{Definitions: []stepwell.Definition{leaf, parent}})
	run, err := parent.Start(t.Context(), app, children)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := run.Result(t.Context()); got != children || err != nil {
		t.Fatalf("parent = %d, %v, want %d", got, err, children)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.parts < 3 || len(w.created) != children {
		t.Fatalf("%d births in %d commits, want %d in several", len(w.created), w.parts, children)
	}
	if w.held > 0 {
		t.Errorf("%d births were held that had been written, want none", w.held)
	}
	t.Logf("%d births in %d commits", len(w.created), w.parts)
}

// childrenReport is what internal/tools/children writes.
type childrenReport struct {
	Took                       time.Duration
	Idle, Peak, Waiting, After struct{ RSS, Heap, Live, Stacks, Goroutines int64 }
}

// playChildren runs internal/tools/children.
func playChildren(t *testing.T, bin string, args ...string) (r childrenReport) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), bin, append([]string{"-db", filepath.Join(t.TempDir(), "runs.db")}, args...)...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v\n%s", err, &stderr)
	}
	if err := json.Unmarshal(stdout.Bytes(), &r); err != nil {
		t.Fatalf("%v\n%s", err, &stdout)
	}
	t.Logf("%v in %s: the most resident %.1f MB, live %.1f MB", args, r.Took.Round(time.Millisecond), float64(r.Peak.RSS)/1e6, float64(r.Peak.Live)/1e6)
	return r
}

// TestManyChildrenHoldLittle: children that wait hold nothing but their places in the cache, and those that end at once hold no more than what each of them
// means to its parent, however far that is behind.
func TestManyChildrenHoldLittle(t *testing.T) {
	const (
		cached   = 1000 // the default: machines that are kept
		few      = 10
		machine  = 16 << 10 // at most, of a child in the cache
		waiting  = 1 << 10  // at most, of any other
		open     = 8 << 10  // at most, of a child that its parent waits for, with a result that it has not read
		programs = 16 << 20 // at most, of a process with nothing to do
	)
	const n = int64(4000)
	bin := buildProgram(t, "github.com/stepwell/stepwell/internal/tools/children")
	r := playChildren(t, bin, "-n", strconv.FormatInt(n, 10), "-waiting")
	if got, want := r.Waiting.Heap-r.Idle.Heap, n*waiting+cached*machine; got > want {
		t.Errorf("%d waiting children hold %d bytes, want at most %d", n, got, want)
	}
	if got, want := r.Waiting.Goroutines, r.Idle.Goroutines+cached+few; got > want {
		t.Errorf("%d goroutines, want at most %d: those before the first run, and the cache's", got, want)
	}
	r = playChildren(t, bin, "-n", strconv.FormatInt(n, 10))
	if got, want := r.Peak.Live, programs+n*open; got > want {
		t.Errorf("%d bytes were in use, want at most %d", got, want)
	}
	if got, want := r.After.Heap, int64(programs); got > want {
		t.Errorf("%d bytes when all is over, want at most %d", got, want)
	}
}
