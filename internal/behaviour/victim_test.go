package behaviour_test

// This file holds the process that the kill tests kill: this test binary, executed again.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/internal/faults"
	"github.com/stepwell/stepwell/keyring"
	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/sqlite"
)

// victimEnv holds a victim's orders, as JSON.
const victimEnv = "STEPWELL_TEST_VICTIM"

// victim says what the process is to do, and where it is to kill itself.
type victim struct {
	Dir  string    // of runs.db and bodies.log
	Role string    // "solo": work, start the run, signal it, wait for it; "worker": work until standard input ends; "client": start Runs runs, wait
	Runs int       // client
	Op   faults.Op // at the N-th call of Op, before or after it
	N    int
	Late bool   // after
	Keys string // the keyring; "": nothing is encrypted
	Body string // or in the first body of the step with this name and attempt, "name/attempt"
}

// victimDone is what it says when it ended by itself.
type victimDone struct {
	Results map[string]string
	Err     string
}

func init() {
	orders := os.Getenv(victimEnv)
	if orders == "" {
		return
	}
	var v victim
	err := json.Unmarshal([]byte(orders), &v)
	done := victimDone{Results: map[string]string{}}
	if err == nil {
		err = v.work(&done)
	}
	if err != nil {
		done.Err = err.Error()
	}
	_ = json.NewEncoder(os.Stdout).Encode(done)
	os.Exit(0)
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

func (v *victim) work(done *victimDone) error {
	file, err := sqlite.Open(filepath.Join(v.Dir, "runs.db"))
	if err != nil {
		return err
	}
	f := faults.Fault{Before: die}
	if v.Late {
		f = faults.Fault{After: die}
	}
	cfg := stepwell.Config{Definitions: v.definitions(), MaxSteps: 4, Name: "victim-" + v.Role}
	if v.Keys != "" {
		if cfg.Encryption, err = keyring.Parse(v.Keys); err != nil {
			return err
		}
	}
	app, err := stepwell.New(faults.New(file, faults.At(v.Op, v.N, f)), cfg)
	if err != nil {
		return err
	}
	ctx, stop := context.WithTimeout(context.Background(), time.Minute)
	defer stop()
	worker, end := context.WithCancel(ctx)
	ended := make(chan error, 1)
	switch v.Role {
	case "client":
		ended <- nil
		err = v.startAndWait(ctx, app, v.Runs, done)
	case "worker":
		go func() { ended <- app.Run(worker) }()
		_, err = io.Copy(io.Discard, os.Stdin)
	default:
		go func() { ended <- app.Run(worker) }()
		err = v.startAndWait(ctx, app, 1, done)
	}
	end()
	return errors.Join(err, <-ended, file.Close())
}

// startAndWait starts runs, those that exist already too, sends each its signal, and waits for their results.
func (v *victim) startAndWait(ctx context.Context, app *stepwell.App, n int, done *victimDone) error {
	runs := make([]*stepwell.Run[string], n)
	for i := range runs {
		id := victimRun(i)
		run, err := victimFlow.Start(ctx, app, i, stepwell.RunID(id))
		if errors.Is(err, stepwell.ErrRunExists) {
			run, err = victimFlow.Get(app, id), nil
		}
		if err == nil {
			err = signalVictim(ctx, app, id)
		}
		if err != nil {
			return err
		}
		runs[i] = run
	}
	for _, run := range runs {
		result, err := run.Result(ctx)
		if err != nil {
			return err
		}
		done.Results[run.ID()] = result
	}
	return nil
}

func victimRun(i int) string { return fmt.Sprintf("run-%d", i) }

// signalVictim sends what the run waits for. It is sent by everybody, again and again, under one delivery ID.
func signalVictim(ctx context.Context, app *stepwell.App, run string) error {
	err := victimEvent.Send(ctx, app, run, "signal", stepwell.DeliveryID("the one"))
	if errors.Is(err, stepwell.ErrTerminal) {
		return nil
	}
	return err
}

var victimEvent = stepwell.Event[string]("go")

// victimFlow is the workflow as clients see it; [victim.definitions] has the code.
var victimFlow = stepwell.Define("victim", func(stepwell.Context, int) (string, error) { return "", errors.New("not here") })

// victimResult is what every run must come to.
const victimResult = "a b c0 c1 d0 d1 d2 flaky signal m0 m1 m2 m3"

// definitions is the workflow that is killed: serial steps, parallel closures, parallel registered steps, a step that fails twice, a sleep, an
// event, a map with a limit.
func (v *victim) definitions() []stepwell.Definition {
	task := stepwell.DefineStep("task", func(ctx context.Context, i int) (string, error) { return v.body(ctx, fmt.Sprint("d", i), 0) })
	step := func(ctx stepwell.Context, name string, fails int) (string, error) {
		return stepwell.Step(ctx, name, func(c context.Context) (string, error) { return v.body(c, name, fails) },
			stepwell.Retry{Attempts: 3, Base: 5 * time.Millisecond, Jitter: -1})
	}
	flow := stepwell.Define("victim", func(ctx stepwell.Context, _ int) (string, error) {
		var out []string
		for _, name := range []string{"a", "b"} {
			s, err := step(ctx, name, 0)
			if err != nil {
				return "", err
			}
			out = append(out, s)
		}
		var closures, tasks []*stepwell.Future[string]
		for i := range 2 {
			closures = append(closures, stepwell.Go(ctx, func(ctx stepwell.Context) (string, error) { return step(ctx, fmt.Sprint("c", i), 0) }))
		}
		parallel, err := stepwell.All(ctx, closures...)
		if err != nil {
			return "", err
		}
		for i := range 3 {
			tasks = append(tasks, task.Start(ctx, i))
		}
		doubled, err := stepwell.All(ctx, tasks...)
		if err != nil {
			return "", err
		}
		flaky, err := step(ctx, "flaky", 2)
		if err != nil {
			return "", err
		}
		if err := stepwell.Sleep(ctx, "nap", 10*time.Millisecond); err != nil {
			return "", err
		}
		signal, _, err := victimEvent.Wait(ctx)
		if err != nil {
			return "", err
		}
		mapped, err := stepwell.Map(ctx, []int{0, 1, 2, 3}, 2, func(ctx stepwell.Context, i int) (string, error) { return step(ctx, fmt.Sprint("m", i), 0) })
		out = append(append(append(append(out, parallel...), doubled...), flaky, signal), mapped...)
		return strings.Join(out, " "), err
	})
	return []stepwell.Definition{flow, task}
}

// body is every step: it notes that it starts, dies if it is told to, fails as often as it should, and notes that it ends.
func (v *victim) body(ctx context.Context, name string, fails int) (string, error) {
	info := stepwell.Info(ctx)
	if err := v.note("start", info, name); err != nil {
		return "", stepwell.Fatal(err)
	}
	if err := v.heartbeat(ctx, info, name); err != nil {
		return "", err
	}
	if v.Body == fmt.Sprintf("%s/%d", name, info.Attempt) {
		die()
	}
	if fails > 0 {
		lines, err := readBodies(v.Dir)
		if err != nil {
			return "", stepwell.Fatal(err)
		}
		if countBodies(lines, "fail", info.Step) < fails {
			if err := v.note("fail", info, name); err != nil {
				return "", stepwell.Fatal(err)
			}
			return "", errors.New("fails")
		}
	}
	return name, v.note("end", info, name)
}

// heartbeat says how often a step has said so, where it is one of those that are tried again or queued, and notes it when that is durable. What was noted before
// this attempt must read.
func (v *victim) heartbeat(ctx context.Context, info stepwell.StepInfo, name string) error {
	if name != "flaky" && !strings.HasPrefix(name, "d") {
		return nil
	}
	lines, err := readBodies(v.Dir)
	if err != nil {
		return stepwell.Fatal(err)
	}
	said, _, err := stepwell.Progress[int](ctx)
	if err != nil {
		return err
	}
	if n := countBodies(lines, "said", info.Step); said < n {
		return stepwell.Fatal(fmt.Errorf("attempt %d of %s: progress is %d, and %d was durable", info.Attempt, name, said, n))
	}
	if err := stepwell.HeartbeatNow(ctx, said+1); err != nil {
		return err
	}
	return v.note("said", info, name)
}

// bodyLine is a line of bodies.log.
type bodyLine struct {
	What, Step, Name string
	Attempt          int
}

// note appends a line in one write: the kernel keeps it, whatever becomes of this process.
func (v *victim) note(what string, info stepwell.StepInfo, name string) error {
	f, err := os.OpenFile(filepath.Join(v.Dir, "bodies.log"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(f, "%s %s %s %d\n", what, info.Step, name, info.Attempt)
	return errors.Join(err, f.Close())
}

func readBodies(dir string) (lines []bodyLine, err error) {
	text, err := os.ReadFile(filepath.Join(dir, "bodies.log"))
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	for line := range strings.Lines(string(text)) {
		var l bodyLine
		if _, err := fmt.Sscanf(line, "%s %s %s %d", &l.What, &l.Step, &l.Name, &l.Attempt); err != nil {
			return nil, fmt.Errorf("bodies.log: %q: %w", line, err)
		}
		lines = append(lines, l)
	}
	return lines, err
}

func countBodies(lines []bodyLine, what, step string) (n int) {
	for _, l := range lines {
		if l.What == what && l.Step == step {
			n++
		}
	}
	return n
}

// recordedAttempts lists the attempts of each step that a log holds, by step.
func recordedAttempts(events []world.Event) map[string][]int {
	attempts := map[string][]int{}
	for _, e := range events {
		if e.Type == world.StepStarted {
			attempts[e.ID] = append(attempts[e.ID], e.Attempt)
		}
	}
	return attempts
}
