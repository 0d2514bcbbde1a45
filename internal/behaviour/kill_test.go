package behaviour_test

// This file holds law 8: processes that are killed with SIGKILL, at each point in turn and at any time, and what is left of their runs.
// Laws: docs/design/README.md#the-laws.

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stepwell/stepwell/internal/faults"
	"github.com/stepwell/stepwell/internal/sample"
	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/sqlite"
)

var killSeed = flag.Uint64("kill.seed", 0, "seed of the times at which TestKillAtAnyTime kills; 0: a new one")

// leastCommits is how many commits the victim makes at least, where all share one that may: its birth with a's start; a's end with b's start; b's with
// those of c0 and c1; theirs with the three tasks; the tasks' with flaky's start; its first failure; its second start; its second failure; its third start;
// its end with the nap; the nap's with m0 and m1, as the signal is there already; theirs with m2 and m3; and theirs with the run's end.
const leastCommits = 13

// TestKillBeforeAndAfterEachCall kills the worker before and after its k-th commit, delivery, take and write to a stream, for each k, or a share of them, until it gets through alive.
func TestKillBeforeAndAfterEachCall(t *testing.T) {
	for _, op := range []faults.Op{faults.Commit, faults.Deliver, faults.Claim, faults.Append} {
		for _, late := range sample.OneFor(t, string(op), false, true) {
			t.Run(fmt.Sprintf("%s/after=%v", op, late), func(t *testing.T) {
				t.Parallel()
				killAtEachCall(t, victim{Op: op, Late: late})
			})
		}
	}
}

// TestKillEncrypted kills the worker of an encrypted run after each of its commits.
func TestKillEncrypted(t *testing.T) {
	t.Parallel()
	k := keys(t, "k1")["k1"]
	dir := killAtEachCall(t, victim{Op: faults.Commit, Late: true, Keys: k.Text()})
	for _, e := range eventsInFile(t, dir, victimRun(0)) {
		if e.Payload != nil && (e.Encrypted != "k1" || !strings.HasPrefix(string(e.Payload), `"sealed:`)) {
			t.Errorf("event %d is not encrypted: %s", e.Seq, e.Payload)
		}
	}
}

// killAtEachCall kills a victim at its first call of a kind, then another at the second, until one gets through alive; it returns where that is.
func killAtEachCall(t *testing.T, v victim) (dir string) {
	t.Helper()
	const most = 80
	first, step := sample.Of(t, 3)
	for v.N = first; v.N <= most+step; v.N += step { // one beyond the most is tried
		dir, died := killOnce(t, v)
		if died {
			continue
		}
		least := 1
		if v.Op == faults.Commit {
			least = max(leastCommits, commitsInFile(t, dir, victimRun(0)))
		}
		if v.N-1 < least {
			t.Errorf("died at %d calls, want %d or more: the failpoints are not reached", v.N-1, least)
		}
		t.Logf("died at fewer than %d calls", v.N)
		return dir
	}
	t.Fatalf("still dying at call %d", most)
	return ""
}

// TestKillInsideEachBody kills the worker inside each step body, after its start was noted.
func TestKillInsideEachBody(t *testing.T) {
	bodies := []string{"a/1", "b/1", "c0/1", "c1/1", "d0/1", "d1/1", "d2/1", "flaky/1", "flaky/2", "flaky/3", "m0/1", "m1/1", "m2/1", "m3/1"}
	for half := range 2 {
		t.Run(fmt.Sprint("half=", half), func(t *testing.T) {
			t.Parallel()
			try := sample.Share(t, 3)
			for i := half; i < len(bodies); i += 2 {
				if !try(i/2 + 1) {
					continue
				}
				if _, died := killOnce(t, victim{Body: bodies[i]}); !died {
					t.Errorf("body %s: it was not reached", bodies[i])
				}
			}
		})
	}
}

// killOnce lets a victim run into its end, finishes its run with another process, and looks at what is left. It returns where that is, and
// whether the first one died.
func killOnce(t *testing.T, v victim) (dir string, died bool) {
	t.Helper()
	v.Role, v.Dir = "solo", t.TempDir()
	where := fmt.Sprintf("%s %d, after %v, body %q", v.Op, v.N, v.Late, v.Body)
	done, died := runVictim(t, v)
	if died {
		before := inspect(t, v.Dir, victimRun(0))
		done, died = runVictim(t, victim{Role: "solo", Dir: v.Dir, Keys: v.Keys})
		if died {
			t.Fatalf("%s: the second process died too", where)
		}
		defer func() { before.neverAgain(t, where, v.Dir) }()
		died = true
	}
	if got := done.Results[victimRun(0)]; got != victimResult || done.Err != "" {
		t.Errorf("%s: got %q, %s, want %q", where, got, done.Err, victimResult)
	}
	checkKilled(t, where, v.Dir, victimRun(0), 1)
	return v.Dir, died
}

// commitsInFile counts the commits that a run's log consists of.
func commitsInFile(t *testing.T, dir, run string) int {
	t.Helper()
	commits := map[int64]bool{}
	for _, e := range eventsInFile(t, dir, run) {
		commits[e.Commit] = true
	}
	return len(commits)
}

// runVictim executes this binary with orders and tells whether it died by them.
func runVictim(t *testing.T, v victim) (done victimDone, died bool) {
	t.Helper()
	cmd, out := victimCommand(t, v)
	err := cmd.Run()
	if _, exited := err.(*exec.ExitError); exited && out.Len() == 0 {
		return done, true
	}
	if err != nil {
		t.Fatalf("victim: %v\n%s", err, out)
	}
	if err := json.Unmarshal(out.Bytes(), &done); err != nil {
		t.Fatalf("victim said %q: %v", out, err)
	}
	return done, false
}

func victimCommand(t *testing.T, v victim) (*exec.Cmd, *bytes.Buffer) {
	t.Helper()
	orders, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	out := &bytes.Buffer{}
	cmd := exec.Command(self) // it ends by itself within a minute, whatever becomes of this test
	// The race detector would let each process that ends by itself sleep for a second.
	cmd.Env = append(os.Environ(), victimEnv+"="+string(orders), "GORACE=atexit_sleep_ms=0 "+os.Getenv("GORACE"))
	cmd.Stdout, cmd.Stderr = out, os.Stderr
	return cmd, out
}

// remains is what a dead process left of a run.
type remains struct {
	over  []string       // steps whose end is recorded
	lines map[string]int // starts of each step
}

func inspect(t *testing.T, dir, run string) remains {
	t.Helper()
	events := eventsInFile(t, dir, run)
	r := remains{lines: map[string]int{}}
	for _, e := range events {
		if e.Type == world.StepCompleted || e.Type == world.StepFailed {
			r.over = append(r.over, e.ID)
		}
	}
	for _, l := range mustReadBodies(t, dir) {
		if l.What == "start" {
			r.lines[l.Step]++
		}
	}
	return r
}

// neverAgain: what was over at the death has not been started since.
func (r *remains) neverAgain(t *testing.T, where, dir string) {
	t.Helper()
	lines := mustReadBodies(t, dir)
	for _, step := range r.over {
		if got, want := countBodies(lines, "start", step), r.lines[step]; got != want {
			t.Errorf("%s: step %s had ended and was started again: %d starts, then %d", where, step, want, got)
		}
	}
}

func mustReadBodies(t *testing.T, dir string) []bodyLine {
	t.Helper()
	lines, err := readBodies(dir)
	if err != nil {
		t.Fatal(err)
	}
	return lines
}

// eventsInFile reads a run's log; a run that was never accepted has none.
func eventsInFile(t *testing.T, dir, run string) (events []world.Event) {
	t.Helper()
	w, err := sqlite.Open(filepath.Join(dir, "runs.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	page, err := w.Events(t.Context(), run, world.EventQuery{})
	if err == nil && page.More {
		t.Fatalf("run %s: more than a page of events", run)
	}
	return page.Events
}

// checkKilled holds the laws against the log and the bodies of a run that is over, after so many deaths at most.
func checkKilled(t *testing.T, where, dir, run string, deaths int) {
	t.Helper()
	events := eventsInFile(t, dir, run)
	failed := false
	checkLog(func(format string, args ...any) {
		failed = true
		t.Errorf(where+": "+format, args...)
	}, run, events)
	attempts := recordedAttempts(events)
	seen := map[string][]int{}
	for _, l := range mustReadBodies(t, dir) {
		if l.What == "start" {
			seen[l.Step] = append(seen[l.Step], l.Attempt)
		}
	}
	const steps = 12
	if len(attempts) != steps {
		t.Errorf("%s: %d steps in the log, want %d", where, len(attempts), steps)
	}
	for step, recorded := range attempts {
		for i, n := range recorded {
			if n != i+1 {
				failed = true
				t.Errorf("%s: step %s: recorded attempts %v, want 1, 2, 3…", where, step, recorded)
				break
			}
		}
		// A process may die between the commit that records a start and the body; what began is always recorded.
		bodies := slices.Compact(slices.Sorted(slices.Values(seen[step])))
		if len(bodies) != len(seen[step]) || len(recorded)-len(bodies) > deaths || len(bodies) > 0 && bodies[len(bodies)-1] > len(recorded) || len(bodies) == 0 {
			failed = true
			t.Errorf("%s: step %s: bodies began as attempts %v, recorded are %v", where, step, seen[step], recorded)
		}
	}
	if len(events) == 0 || events[len(events)-1].Type != world.RunCompleted {
		failed = true
		t.Errorf("%s: run %s did not complete", where, run)
	}
	if failed {
		for _, e := range events {
			t.Log(e.Seq, e.Commit, e.Type, e.ID, e.Name, e.Attempt, string(e.Payload), e.Error)
		}
	}
}

// TestKillAtAnyTime kills worker processes at random times while another process starts and signals runs: every accepted run ends
// right.
func TestKillAtAnyTime(t *testing.T) {
	t.Parallel()
	seed := *killSeed
	if seed == 0 {
		seed = rand.Uint64()
	}
	t.Logf("again: go test ./internal/behaviour -run TestKillAtAnyTime -kill.seed=%d", seed)
	rnd := rand.New(rand.NewPCG(seed, 9))
	const kills, runs = 6, 12
	dir := t.TempDir()
	client, said := victimCommand(t, victim{Role: "client", Dir: dir, Runs: runs})
	if err := client.Start(); err != nil {
		t.Fatal(err)
	}
	for range kills {
		worker, _ := victimCommand(t, victim{Role: "worker", Dir: dir})
		in, err := worker.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := worker.Start(); err != nil {
			t.Fatal(err)
		}
		<-time.After(time.Duration(50+rnd.IntN(600)) * time.Millisecond) // what it hits is up to chance
		if err := worker.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = worker.Wait() // killed, as it should
		_ = in.Close()
	}
	last, lastSaid := victimCommand(t, victim{Role: "worker", Dir: dir})
	in, err := last.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := last.Start(); err != nil {
		t.Fatal(err)
	}
	if err := client.Wait(); err != nil {
		t.Fatalf("client: %v\n%s", err, said)
	}
	closeVictim(t, last, in, lastSaid)
	var done victimDone
	if err := json.Unmarshal(said.Bytes(), &done); err != nil || done.Err != "" {
		t.Fatalf("client said %q: %v", said, err)
	}
	for i := range runs {
		if got := done.Results[victimRun(i)]; got != victimResult {
			t.Errorf("%s: got %q, want %q", victimRun(i), got, victimResult)
		}
	}
	checkLoad(t, dir, runs, kills)
}

// checkLoad holds the laws against all runs of a file; the lines of bodies are told apart by step ID.
func checkLoad(t *testing.T, dir string, runs, deaths int) {
	t.Helper()
	for i := range runs {
		checkKilled(t, victimRun(i), dir, victimRun(i), deaths)
	}
}

// closeVictim ends a worker process in an orderly way.
func closeVictim(t *testing.T, cmd *exec.Cmd, in io.Closer, said *bytes.Buffer) {
	t.Helper()
	if err := in.Close(); err != nil {
		t.Error(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("worker: %v\n%s", err, said)
	}
	var done victimDone
	if err := json.Unmarshal(said.Bytes(), &done); err != nil || done.Err != "" {
		t.Errorf("worker said %q: %v", said, err)
	}
}
