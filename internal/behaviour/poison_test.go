package behaviour_test

// This file holds the quarantine: steps and workflow code that end their process, and what becomes of all that runs beside them. The
// worker is a process of its own, started again whenever it dies, as a supervisor would.

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/internal/sample"
	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/sqlite"
)

// ward is a file, a client, and the workers that die of what is in it.
type ward struct {
	*testing.T
	dir    string
	world  *sqlite.World
	app    *stepwell.App
	orders poisoned
	deaths int
	ids    map[string][]string // runs, by workflow
}

func newWard(t *testing.T) *ward {
	dir := t.TempDir()
	w := openFile(t, filepath.Join(dir, "runs.db"))
	app, err := stepwell.New(w, stepwell.Config{Name: "client"})
	if err != nil {
		t.Fatal(err)
	}
	return &ward{T: t, dir: dir, world: w, app: app, orders: poisoned{Dir: dir, Build: "bad", Long: 300 * time.Millisecond}, ids: map[string][]string{}}
}

func (w *ward) start(workflow string, n int) {
	w.Helper()
	for range n {
		run, err := w.app.Start(w.Context(), workflow, json.RawMessage(`0`))
		if err != nil {
			w.Fatal(err)
		}
		w.ids[workflow] = append(w.ids[workflow], run.ID())
	}
}

// poisonedWorker is one life of the worker process.
type poisonedWorker struct {
	cmd   *exec.Cmd
	ended chan error // gets one value
	stop  func()     // asks it to shut down
}

func (w *ward) worker() *poisonedWorker {
	w.Helper()
	orders, err := json.Marshal(w.orders)
	if err != nil {
		w.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		w.Fatal(err)
	}
	cmd := exec.CommandContext(w.Context(), self)
	cmd.Env = append(os.Environ(), poisonedEnv+"="+string(orders), "GORACE=atexit_sleep_ms=0 "+os.Getenv("GORACE")) // as for victims
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		w.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		w.Fatal(err)
	}
	p := &poisonedWorker{cmd: cmd, ended: make(chan error, 1), stop: func() { _ = in.Close() }}
	go func() { p.ended <- cmd.Wait() }()
	return p
}

// supervise starts workers until something holds, and shuts the last one down.
func (w *ward) supervise(what string, cond func() bool) {
	w.Helper()
	const most = 30
	p := w.worker()
	deadline := time.Now().Add(time.Minute)
	for !cond() {
		select {
		case <-p.ended:
			if code := p.cmd.ProcessState.ExitCode(); code != deadly {
				w.Fatalf("the worker ended with %d, want %d: its poison", code, deadly)
			}
			if w.deaths++; w.deaths > most {
				w.Fatalf("%d workers died, waiting for %s", w.deaths, what)
			}
			p = w.worker()
		case <-time.After(20 * time.Millisecond):
			if time.Now().After(deadline) {
				w.dump()
				w.Fatalf("waited in vain for %s; %d workers died", what, w.deaths)
			}
		}
	}
	p.stop()
	if err := <-p.ended; err != nil {
		w.Fatalf("the last worker: %v", err)
	}
}

// over reports whether all runs of these workflows, or of all, are over.
func (w *ward) over(workflows ...string) bool {
	if len(workflows) == 0 {
		for name := range w.ids {
			workflows = append(workflows, name)
		}
	}
	for _, name := range workflows {
		for _, id := range w.ids[name] {
			if !w.run(id).Status.Terminal() {
				return false
			}
		}
	}
	return true
}

func (w *ward) run(id string) world.Run {
	w.Helper()
	row, err := w.world.Run(context.Background(), id)
	if err != nil {
		w.Fatal(err)
	}
	return row
}

func (w *ward) dump() {
	for name, ids := range w.ids {
		for _, id := range ids {
			row := w.run(id)
			if row.Status.Terminal() {
				continue
			}
			b, _ := json.Marshal(row.Queue)
			w.Log(name, id, row.Status, string(b))
			for _, e := range eventsOf(w, w.world, id) {
				w.Log(e.Seq, e.Type, e.Name, e.Attempt, e.Error)
			}
		}
	}
}

// history is how the attempts of a run's step went, as far as the log has them: of a task the last ten.
type history struct {
	starts, failures, abandoned int
	end                         world.EventType
	code                        string
}

func (w *ward) history(run, step string) (h history) {
	w.Helper()
	id := ""
	for _, e := range eventsOf(w, w.world, run) {
		if e.Type == world.StepCreated && e.Name == step {
			id = e.ID
		}
		if id == "" || e.ID != id {
			continue
		}
		switch e.Type {
		case world.StepStarted:
			h.starts++
		case world.StepRetrying:
			if e.Error.Code == world.CodeAbandoned {
				h.abandoned++
			} else {
				h.failures++
			}
		case world.StepCompleted:
			h.end = e.Type
		case world.StepFailed:
			h.end, h.code = e.Type, e.Error.Code
		}
	}
	return h
}

// innocent: all runs of a workflow completed, and no step of theirs lost any of its budget, or died alone.
func (w *ward) innocent(workflow string, mostStarts int) {
	w.Helper()
	for _, id := range w.ids[workflow] {
		h := w.history(id, workflow)
		if row := w.run(id); row.Status != world.Completed || h.failures > 0 || h.starts-h.abandoned > mostStarts {
			w.Errorf("%s: run %s is %s, its step %+v; want it completed with no failure and at most %d starts", workflow, id, row.Status, h, mostStarts)
		}
	}
}

func (w *ward) guilty(workflow string) {
	w.Helper()
	for _, id := range w.ids[workflow] {
		h := w.history(id, workflow)
		if row := w.run(id); row.Status != world.Failed || h.end != world.StepFailed || h.code != world.CodeCrashLoop || h.failures > 0 {
			w.Errorf("%s: run %s is %s, its step %+v; want both to fail with %s", workflow, id, row.Status, h, world.CodeCrashLoop)
		}
	}
}

// TestPoisonedStep: a step that ends its process fails after two deaths in company and five alone, and nothing else does.
func TestPoisonedStep(t *testing.T) {
	type poisoned struct{ name, poison, long string }
	for _, c := range sample.One(t, poisoned{"closure", "exits", "long"}, poisoned{"task", "task-exits", "task-long"}) {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newWard(t)
			w.start("quick", 20)
			w.start(c.long, 5)
			w.start(c.poison, 1)
			w.start("task-quick", 10)
			w.start("long", 5)
			w.start("quick", 20)
			w.supervise("all runs to end", func() bool { return w.over() })
			w.guilty(c.poison)
			for _, name := range []string{"quick", "task-quick", "long", c.long} {
				w.innocent(name, 3) // two in company, and one alone
			}
			if w.deaths != 7 {
				t.Errorf("%d workers died, want 7: two in company, five alone", w.deaths)
			}
		})
	}
}

// TestPoisonedCode: workflow code that ends its process blocks its run, is not tried by the same build for long, and another one heals it.
func TestPoisonedCode(t *testing.T) {
	t.Parallel()
	w := newWard(t)
	w.start("quick", 20)
	w.start("code", 1)
	w.start("long", 3)
	w.start("task-quick", 5)
	id := w.ids["code"][0]
	block := func() world.Block {
		if q := w.run(id).Queue; q != nil && q.Blocked != nil {
			return *q.Blocked
		}
		return world.Block{}
	}
	w.supervise("the run to be blocked for good, and all others to end", func() bool {
		b := block()
		return b.Code == world.CodeCrashLoop && b.Tries > 2 && w.over("quick", "long", "task-quick")
	})
	// The first death looks like the step's. At the second its result is recorded before the code goes on. Three strikes; twice alone, with a pause.
	if w.deaths != 7 {
		t.Errorf("%d workers died, want 7", w.deaths)
	}
	for _, name := range []string{"quick", "long", "task-quick"} {
		w.innocent(name, 7)
	}
	if h := w.history(id, "before"); h.starts != 2 || h.failures > 0 || h.end != world.StepCompleted {
		t.Errorf("the step before: %+v, want it completed at its second start", h)
	}
	w.orders.Build = "good"
	w.supervise("the good build to heal the run", func() bool { return w.over("code") })
	if row := w.run(id); row.Status != world.Completed || w.deaths != 7 {
		t.Errorf("run is %s after %d deaths, want it completed after 7", row.Status, w.deaths)
	}
}

// TestDrainedRestartsCountNothing: attempts that a shutdown ends are neither failures nor deaths, whether their bodies heed it or not.
func TestDrainedRestartsCountNothing(t *testing.T) {
	t.Parallel()
	w := newWard(t)
	bodies := []string{"heeds", "deaf", "task-heeds", "task-deaf"}
	for _, name := range bodies {
		w.start(name, 1)
	}
	started := func() int {
		b, err := os.ReadFile(filepath.Join(w.dir, "starts.log"))
		if err != nil {
			return 0
		}
		return bytes.Count(b, []byte("\n"))
	}
	const restarts = 5
	for i := range restarts {
		w.supervise("all bodies to run", func() bool { return started() == (i+1)*len(bodies) })
	}
	w.orders.Done = true
	w.supervise("all runs to end", func() bool { return w.over() })
	for _, name := range bodies {
		got := w.history(w.ids[name][0], name)
		if want := (history{starts: restarts + 1, abandoned: restarts, end: world.StepCompleted}); got != want {
			t.Errorf("%s: got %+v, want %+v", name, got, want)
		}
	}
	if w.deaths != 0 {
		t.Errorf("%d workers died", w.deaths)
	}
}
