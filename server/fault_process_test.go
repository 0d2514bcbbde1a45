package server

// This file holds the processes that the fault tests kill: this test binary, executed again as a server or as a remote worker.

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/internal/faults"
	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/postgres"
	"github.com/stepwell/stepwell/world/remote"
	"github.com/stepwell/stepwell/world/sqlite"
)

// missionEnv holds what a process is to do, as JSON.
const missionEnv = "STEPWELL_TEST_PROCESS"

// mission says what a process is: a server in front of Dir/runs.db, or of DB, that listens, or a worker on the server
// at URL. It kills itself at its N-th call of Op, before or after it; else it ends with its standard input.
type mission struct {
	Dir, Listen, URL string
	DB               string // URL of a PostgreSQL database
	Op               faults.Op
	N                int
	Late             bool // after
}

func init() {
	text := os.Getenv(missionEnv)
	if text == "" {
		return
	}
	var o mission
	err := json.Unmarshal([]byte(text), &o)
	if err == nil {
		err = o.work()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// work does it, for a minute at most: no process stays, whatever becomes of the test.
func (o *mission) work() error {
	ctx, stop := context.WithTimeout(context.Background(), time.Minute)
	defer stop()
	go func() {
		defer stop()
		_, _ = io.Copy(io.Discard, os.Stdin) // until it ends
	}()
	var w world.World
	var err error
	switch {
	case o.URL != "":
		w, err = remote.Open(ctx, o.URL)
	case o.DB != "":
		w, err = postgres.Open(ctx, o.DB)
	default:
		w, err = openFile(filepath.Join(o.Dir, "runs.db"))
	}
	if err != nil {
		return err
	}
	defer func() { _ = w.Close() }() // or killed
	fault := faults.Fault{Before: die}
	if o.Late {
		fault = faults.Fault{After: die}
	}
	if o.Op != "" {
		w = faults.New(w, faults.At(o.Op, o.N, fault))
	}
	if o.URL != "" {
		app, err := stepwell.New(w, stepwell.Config{Definitions: harmed(o.Dir), Lease: remoteLease})
		if err != nil {
			return err
		}
		fmt.Println("ready")
		return app.Run(ctx)
	}
	app, err := stepwell.New(w, stepwell.Config{})
	if err != nil {
		return err
	}
	s, err := New(app, Options{})
	if err != nil {
		return err
	}
	l, err := s.Listen(ctx, o.Listen)
	if err != nil {
		return err
	}
	fmt.Println("ready")
	return s.Serve(ctx, l, Serving{Shutdown: time.Second})
}

// openFile opens a file that a dying process may still have.
func openFile(name string) (w world.World, err error) {
	for range 500 {
		if w, err = sqlite.Open(name); err == nil {
			return w, nil
		}
		<-time.After(10 * time.Millisecond)
	}
	return nil, err
}

// die is kill -9 by one's own hand.
func die() {
	p, err := os.FindProcess(os.Getpid())
	if err == nil {
		err = p.Kill()
	}
	if err != nil {
		panic(err)
	}
	select {}
}

// process is one that runs.
type process struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	err bytes.Buffer // what it said on standard error

	died chan struct{} // closed when it is gone
	how  error         // of its end, then
}

// spawn starts a process and waits until it is ready, or dead.
func spawn(t *testing.T, o mission) *process {
	t.Helper()
	text, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p := &process{cmd: exec.Command(self), died: make(chan struct{})}
	p.cmd.Env = append(os.Environ(), missionEnv+"="+string(text), "GORACE=atexit_sleep_ms=0 "+os.Getenv("GORACE"))
	p.cmd.Stderr = &p.err
	out, err := p.cmd.StdoutPipe()
	if err == nil {
		p.in, err = p.cmd.StdinPipe()
	}
	if err == nil {
		err = p.cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	_, _ = out.Read(make([]byte, 16)) // what it says, or the end
	go func() {
		defer close(p.died)
		p.how = p.cmd.Wait()
	}()
	t.Cleanup(p.kill)
	return p
}

// kill is kill -9.
func (p *process) kill() {
	_ = p.cmd.Process.Kill() // it may be dead
	<-p.died
	_ = p.in.Close()
}

// end ends it in good order.
func (p *process) end(t *testing.T) {
	t.Helper()
	if !p.ends() {
		t.Errorf("process: %v\n%s", p.how, p.err.String())
	}
}

// ends reports whether it ends in good order when it is told to, or had killed itself before, or does so then.
func (p *process) ends() bool {
	_ = p.in.Close()
	<-p.died
	return p.how == nil
}

const (
	remoteLease = time.Second
	harmedEnds  = "a b t0 t1 t2 go c" // what a run must come to
	harmedSteps = 6
)

// harmedFlow is the workflow as clients see it; harmed has the code.
var harmedFlow = stepwell.Define("harmed", func(stepwell.Context, int) (string, error) { return "", errors.New("not here") })

var harmedEvent = stepwell.Event[string]("go")

// harmed is a workflow with serial steps, registered steps side by side, a sleep and an event. Its bodies note in Dir/bodies.log that they begin.
func harmed(dir string) []stepwell.Definition {
	body := func(ctx context.Context, name string) (string, error) {
		return name, note(dir, stepwell.Info(ctx))
	}
	task := stepwell.DefineStep("task", func(ctx context.Context, i int) (string, error) { return body(ctx, fmt.Sprint("t", i)) })
	flow := stepwell.Define("harmed", func(ctx stepwell.Context, _ int) (string, error) {
		var out []string
		step := func(name string) error {
			s, err := stepwell.Step(ctx, name, func(ctx context.Context) (string, error) { return body(ctx, name) })
			out = append(out, s)
			return err
		}
		if err := errors.Join(step("a"), step("b")); err != nil {
			return "", err
		}
		var tasks []*stepwell.Future[string]
		for i := range 3 {
			tasks = append(tasks, task.Start(ctx, i))
		}
		done, err := stepwell.All(ctx, tasks...)
		if err != nil {
			return "", err
		}
		if err := stepwell.Sleep(ctx, "nap", 5*time.Millisecond); err != nil {
			return "", err
		}
		word, _, err := harmedEvent.Wait(ctx)
		if err != nil {
			return "", err
		}
		out = append(append(out, done...), word)
		err = step("c")
		return strings.Join(out, " "), err
	})
	return []stepwell.Definition{flow, task}
}

// note appends a line in one write: the kernel keeps it, whatever becomes of this process.
func note(dir string, info stepwell.StepInfo) error {
	f, err := os.OpenFile(filepath.Join(dir, "bodies.log"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(f, "%s %d\n", info.Step, info.Attempt)
	return errors.Join(err, f.Close())
}

// bodies are the attempts of each step that began, in order.
func bodies(t *testing.T, dir string) map[string][]int {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "bodies.log"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	began := map[string][]int{}
	for line := range strings.Lines(string(text)) {
		var step string
		var attempt int
		if _, err := fmt.Sscan(line, &step, &attempt); err != nil {
			t.Fatalf("bodies.log: %q: %v", line, err)
		}
		began[step] = append(began[step], attempt)
	}
	return began
}

// unharmed holds the laws against the log of a run that is over, and the bodies that ran for it. It returns how many commits the log consists of.
func unharmed(t *testing.T, where, dir string, w world.World, run string) int {
	t.Helper()
	page, err := w.Events(t.Context(), run, world.EventQuery{})
	if err != nil || page.More {
		t.Fatalf("%s: events of run %s: more %v, %v", where, run, page.More, err)
	}
	state, deliveries, commits, recorded, ended := &world.State{ID: run}, map[string]bool{}, map[int64]bool{}, map[string][]int{}, map[string]int{}
	for i := range page.Events {
		e := &page.Events[i]
		if changed, err := state.Apply(e, e.Time); err != nil || !changed || e.Seq != int64(i+1) {
			t.Errorf("%s: event %d at place %d: changed %v, %v", where, e.Seq, i+1, changed, err)
		}
		if e.Delivery != "" && deliveries[e.Delivery] {
			t.Errorf("%s: delivery %s was appended twice", where, e.Delivery)
		}
		deliveries[e.Delivery], commits[e.Commit] = true, true
		switch e.Type {
		case world.StepStarted:
			recorded[e.ID] = append(recorded[e.ID], e.Attempt)
		case world.StepCompleted:
			ended[e.ID] = len(recorded[e.ID])
		}
	}
	began := bodies(t, dir)
	if len(recorded) != harmedSteps || len(ended) != harmedSteps {
		t.Errorf("%s: %d steps began, %d completed, want %d", where, len(recorded), len(ended), harmedSteps)
	}
	for step, attempts := range recorded {
		seen := slices.Compact(slices.Sorted(slices.Values(began[step])))
		if len(seen) != len(began[step]) || len(seen) == 0 || seen[len(seen)-1] > len(attempts) || ended[step] != len(attempts) {
			t.Errorf("%s: step %s: its bodies began as attempts %v, recorded are %v, and it ended as the %dth", where, step, began[step], attempts, ended[step])
		}
	}
	if n := len(page.Events); n == 0 || page.Events[n-1].Type != world.RunCompleted || string(page.Events[n-1].Payload) != fmt.Sprintf("%q", harmedEnds) {
		t.Errorf("%s: run %s did not come to its end", where, run)
	}
	return len(commits)
}
