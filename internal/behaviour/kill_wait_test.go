package behaviour_test

// This file holds law 8 (docs/design/README.md#law-8) for all that runs wait for: hooks, children, other runs, pauses,
// cancels. Worker processes are killed before and after each commit and inside each body, while the process beside them, this
// one, sends, pauses, resumes and cancels.

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/internal/sample"
	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/journal"
)

// waitingVictim is a worker process, of internal/tools/waiters, and where it kills itself: see there.
type waitingVictim struct {
	bin  string
	Dir  string
	N    int
	Late bool
	Body string
	Note string
}

var waitingGo = stepwell.Event[string]("go")

// waitingRuns are all that must be there at the end, and how: children of children too. By IDs, or by workflows.
var waitingRuns = map[string]struct {
	status world.Status
	output string
	runs   int
}{
	"top":    {world.Completed, `"target got x 1 2 10 20 end"`, 1},
	"target": {world.Completed, `"target got x"`, 1},
	"held":   {world.Completed, `"y held"`, 1},
	"doomed": {world.Cancelled, "", 2},
	"mid":    {world.Completed, "", 2},
	"leaf":   {world.Completed, "", 2},

	"delayed": {world.Completed, `"place queue"`, 1},

	"first-pay":   {world.Failed, "", 1},
	"first-payer": {world.Failed, "", 1},
	"pay":         {world.Completed, `"paid"`, 1}, // the retries
	"payer":       {world.Completed, `"paid"`, 1},
	"follower":    {world.Completed, `"paid"`, 1},
}

// script is what this process does to the runs, each as soon as it can: it returns false where it is too early.
func script(ctx context.Context, app *stepwell.App) []func() (bool, error) {
	hook := func(token, payload string) func() (bool, error) {
		return func() (bool, error) {
			err := app.SendHook(ctx, token, json.RawMessage(payload), stepwell.DeliveryID("payload-"+payload))
			if errors.Is(err, stepwell.ErrNotFound) {
				return false, nil
			}
			return true, err
		}
	}
	woken := map[string]bool{}
	wake := func() (bool, error) { // once for each delay that there is
		s, err := app.Story(ctx, "delayed", false)
		if err != nil || s.Run.Status.Terminal() {
			return err == nil, err
		}
		fresh := false
		for _, en := range s.Journal.Entries {
			if at := fmt.Sprint(en.ID, en.Attempt); en.Status == journal.EntryPending && en.RetryAt.After(time.Now()) && !woken[at] {
				woken[at], fresh = true, true
			}
		}
		if fresh {
			if _, err = app.Wake(ctx, "delayed", stepwell.WakeRetries); errors.Is(err, stepwell.ErrTerminal) { // the wake before this one had ended both delays
				return true, nil
			}
		}
		return false, err
	}
	retry := func(run string) func() (bool, error) {
		return func() (bool, error) {
			_, err := app.Retry(ctx, run)
			if errors.Is(err, stepwell.ErrNotFound) || errors.Is(err, stepwell.ErrInvalid) {
				return false, nil
			}
			return true, err
		}
	}
	do := func(act func() error) func() (bool, error) { return func() (bool, error) { return true, act() } }
	return []func() (bool, error){
		do(func() error { return app.Pause(ctx, "held", "for a while") }),
		hook("tok", `"1"`),
		do(func() error { return waitingGo.Send(ctx, app, "held", "y") }),
		func() (bool, error) {
			rows, err := app.Hooks(ctx, "doomed", "")
			if err != nil || len(rows) == 0 {
				return false, err
			}
			return true, app.Cancel(ctx, "doomed", "enough")
		},
		do(func() error { return waitingGo.Send(ctx, app, "target", "x") }),
		do(func() error { return app.Resume(ctx, "held") }),
		hook("tok", `"2"`),
		do(func() error { _, err := app.Wake(ctx, "delayed", stepwell.WakeStarts); return err }),
		wake,
		retry("first-pay"),
		retry("first-payer"), // which is refused until the child is healed
		do(func() error { return waitingGo.Send(ctx, app, "follower", "go") }),
	}
}

// TestKillWhileRunsWait kills the worker before and after its k-th commit, for each k until it gets through alive, and inside each body.
func TestKillWhileRunsWait(t *testing.T) {
	bin := buildProgram(t, "github.com/stepwell/stepwell/internal/tools/waiters")
	for _, late := range sample.One(t, false, true) {
		t.Run(fmt.Sprintf("commit/after=%v", late), func(t *testing.T) {
			t.Parallel()
			const least, most = 12, 100
			first, step := sample.Of(t, 12)
			for n := first; ; n += step {
				if n > most+step { // one beyond the most is tried
					t.Fatalf("still dying at commit %d", n)
				}
				if !killWaiting(t, waitingVictim{bin: bin, N: n, Late: late}) {
					if n <= least {
						t.Errorf("died at %d commits, want more than %d: the failpoints are not reached", n-1, least)
					}
					t.Logf("died at fewer than %d commits", n)
					return
				}
			}
		})
	}
	t.Run("continuations", func(t *testing.T) {
		t.Parallel()
		killContinuing(t, bin)
	})
	t.Run("bodies", func(t *testing.T) {
		t.Parallel()
		try := sample.Share(t, 3)
		for i, body := range []string{"leaf", "mid", "end", "held", "clean-up", "reserve"} {
			if !try(i + 1) {
				continue
			}
			if !killWaiting(t, waitingVictim{bin: bin, Body: body}) {
				t.Errorf("body %s: it was not reached", body)
			}
		}
	})
}

// killWaiting lets the runs go through a death, and looks at what became of them. It reports whether there was one.
func killWaiting(t *testing.T, v waitingVictim) (died bool) {
	t.Helper()
	v.Dir = t.TempDir()
	where := fmt.Sprintf("commit %d, after %v, body %q", v.N, v.Late, v.Body)
	file := openFile(t, filepath.Join(v.Dir, "runs.db"))
	app, err := stepwell.New(file, stepwell.Config{Name: "client"})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for name, input := range map[string]string{"target": "0", "top": "0", "held": "0", "doomed": "false", "delayed": "0", "first-payer": "0", "follower": "0"} {
		opts := []stepwell.StartOption{stepwell.RunID(name)}
		workflow := strings.TrimPrefix(name, "first-")
		if name == "delayed" {
			opts = append(opts, stepwell.Delay(time.Hour))
		}
		if _, err := app.Start(ctx, workflow, json.RawMessage(input), opts...); err != nil {
			t.Fatal(err)
		}
	}
	todo := script(ctx, app)
	worker := startWaiting(t, v)
	for len(todo) > 0 || !waitingOver(t, app) {
		if len(todo) > 0 {
			done, err := todo[0]()
			if err != nil {
				t.Fatalf("%s: %d acts left: %v", where, len(todo), err)
			}
			if done {
				todo = todo[1:]
			}
		}
		select {
		case <-worker.ended:
			if died || worker.said.Len() > 0 {
				t.Fatalf("%s: the worker ended: %s", where, worker.said)
			}
			died = true
			worker = startWaiting(t, waitingVictim{bin: v.bin, Dir: v.Dir})
		case <-ctx.Done():
			for _, name := range []string{"top", "target", "held", "doomed", "delayed", "first-pay", "first-payer", "follower"} {
				w, err := app.Why(context.Background(), name)
				t.Log(name, w, err)
			}
			t.Fatalf("%s: the runs do not end, %d acts left", where, len(todo))
		case <-time.After(5 * time.Millisecond):
		}
	}
	worker.stop()
	<-worker.ended
	checkWaiting(t, where, app, file)
	return died
}

// waitingWorker is one worker process.
type waitingWorker struct {
	said  *bytes.Buffer // after ended
	ended chan struct{}
	stop  func()
}

func startWaiting(t *testing.T, v waitingVictim) *waitingWorker {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), v.bin, "-dir", v.Dir, "-n", strconv.Itoa(v.N),
		"-late="+strconv.FormatBool(v.Late), "-body", v.Body, "-note", v.Note)
	w := &waitingWorker{said: &bytes.Buffer{}, ended: make(chan struct{})}
	cmd.Stdout, cmd.Stderr = w.said, os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	w.stop = func() { _ = in.Close() }
	go func() {
		defer close(w.ended)
		_ = cmd.Wait() // killed, or told to stop
	}()
	return w
}

func waitingOver(t *testing.T, app *stepwell.App) bool {
	t.Helper()
	n := 0
	for row, err := range app.List(context.Background(), stepwell.ListFilter{}) {
		if err != nil {
			t.Fatal(err)
		}
		if !row.Status.Terminal() {
			return false
		}
		n++
	}
	return n >= 7
}

// checkWaiting: right results, no run twice, no token held, every log legal, every step recorded once.
func checkWaiting(t *testing.T, where string, app *stepwell.App, w world.World) {
	t.Helper()
	runs := map[string]int{}
	for row, err := range app.List(context.Background(), stepwell.ListFilter{}) {
		if err != nil {
			t.Fatal(err)
		}
		name := row.Workflow
		if _, own := waitingRuns[row.ID]; own {
			name = row.ID
		}
		runs[name]++
		want := waitingRuns[name]
		if row.Status != want.status || want.output != "" && string(row.Output) != want.output {
			t.Errorf("%s: run %s of %s is %s with %s, want %s with %s", where, row.ID, row.Workflow, row.Status, row.Output, want.status, want.output)
		}
		checkLog(func(format string, args ...any) { t.Errorf(where+": "+format, args...) }, row.ID, eventsOf(t, w, row.ID))
	}
	for workflow, want := range waitingRuns {
		if got := runs[workflow]; got != want.runs {
			t.Errorf("%s: %d runs of %s, want %d", where, got, workflow, want.runs)
		}
	}
	if hooks, err := app.Hooks(context.Background(), "", ""); err != nil || len(hooks) > 0 {
		t.Errorf("%s: tokens are held still: %+v, %v", where, hooks, err)
	}
}
