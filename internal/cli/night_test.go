package cli

// A run that stands still, of each kind, as whoever is called at night meets it: the next command to type is there, and it can be typed.

import (
	"context"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/sqlite"
)

// night makes a file with a run whose worker died, and one whose retry is far away; no worker is left.
func night(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "night.db")
	clock := ago(time.Hour)
	w, err := sqlite.Open(path, sqlite.Options{Now: func() time.Time { return clock }})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Join(t.Context(), world.Worker{
		ID: fixtureWorker, Name: "host:42", Build: "4f1c2aa", Lease: 10 * time.Second, Classes: []world.Class{{Workflow: "order", Version: 2}},
	}); err != nil {
		t.Fatal(err)
	}
	f := &filler{t: t, w: w, now: now}
	order := world.Birth{Workflow: "order", Version: 2, Priority: 1}
	at := ago(time.Hour)
	charge := []world.Event{
		event(world.StepCreated, "step_1", at, named(world.KindClosure, "charge-card")), event(world.StepStarted, "step_1", at, try(1))}
	f.run(workingRun, order, `{}`, nil, append(begins(at), charge...))
	f.run(retryingRun, order, `{}`, &world.Release{WakeAt: now.Add(8 * time.Hour), Waiting: `retry of "charge-card"`},
		append(append(begins(at), charge...), event(world.StepRetrying, "step_1", at, try(1), fails("card: 503", now.Add(8*time.Hour)))))
	clock = now
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestWhatToTypeNext(t *testing.T) {
	day, dark := fixture(t), night(t)
	for _, test := range []struct {
		kind, db, run string
		says          string   // why it stands still
		do            []string // what is proposed; the first is typed
	}{
		{"no worker has it", day, strangerRun, `no worker has workflow "refund" version 3`, []string{"workers", "runs cancel " + strangerRun}},
		{"no worker at all", dark, retryingRun, "waiting to try step", []string{"runs wake " + retryingRun + " --retries", "runs cancel " + retryingRun, "runs cancel " + retryingRun + " --force"}},
		{"its worker died", dark, workingRun, "has not been heard of", []string{"workers", "runs cancel " + workingRun + " --force"}},
		{"it diverged", day, blockedRun, "the code no longer matches its log (event 7)", []string{"runs cancel " + blockedRun, "runs fork " + blockedRun + " --at 6", "export " + blockedRun + " | stepwell check -- PROGRAM"}},
		{"paused", day, pausedRun, "paused by ann@laptop", []string{"runs resume " + pausedRun}},
		{"it waits for an event", day, waitingRun, `waiting for event "verify"`, []string{"runs signal " + waitingRun + ` verify '{"userId":"42"}'`}},
		{"it waits for a hook", day, hookRun, "waiting for a payload", []string{"hooks send order-7 PAYLOAD"}},
		{"crash loop", day, loopingRun, "deploy a build that does not", []string{"workers", "runs cancel " + loopingRun}},
		{"it sleeps", day, sleepingRun, "sleeping in", []string{"runs wake " + sleepingRun}},
		{"it waits for another", day, parentRun, "waiting for child run", []string{"runs show " + retryingRun}},
		{"a step runs long", day, workingRun, "is in step", []string{"runs cancel " + workingRun, "runs tail " + workingRun}},
		{"it failed", day, failedRun, "disk full", []string{"runs retry " + failedRun, "runs restart " + failedRun}},
	} {
		env := map[string]string{"STEPWELL_DB": test.db}
		code, out, errs := call{env: env}.do(context.Background(), "runs", "show", test.run)
		if code != exitOK || !strings.Contains(out, test.says) {
			t.Errorf("%s: exit code %d, stderr %q; want %q in\n%s", test.kind, code, errs, test.says, out)
		}
		typed := strings.NewReplacer("'", "", payloadWord, `{"ok":true}`) // only the person who types it knows the payload
		for _, line := range test.do {
			if !strings.Contains(out, "stepwell "+line) {
				t.Errorf("%s: it does not propose %q:\n%s", test.kind, line, out)
			}
		}
		if code, _, errs := (call{env: env}).do(context.Background(), strings.Fields(typed.Replace(test.do[0]))...); code != exitOK {
			t.Errorf("%s: %q: exit code %d, %s", test.kind, test.do[0], code, errs)
		}
	}
}

// TestLostWorkers: one that died is told from one that lives.
func TestLostWorkers(t *testing.T) {
	code, out, errs := call{}.do(context.Background(), "workers", "--db", night(t))
	if code != exitOK || !strings.Contains(out, "host:42") || !strings.Contains(out, "lost: not heard of") {
		t.Errorf("exit code %d, stderr %q; want a worker that is lost in\n%s", code, errs, out)
	}
}

// TestRetryNow: what waits in backoff is tried again now, one run and many, and a delayed start begins, each where that is asked for.
func TestRetryNow(t *testing.T) {
	today := time.Now()
	path := fixtureAt(t, today)
	if code, _, errs := (call{now: today}).do(context.Background(), "runs", "start", "order", "7", "--id", "later", "--delay", "2h", "--db", path); code != exitOK {
		t.Fatalf("start: %s", errs)
	}
	for _, step := range []struct {
		args, out string
		mail      int // that waits for the run in backoff afterwards
	}{
		{"runs wake --sleeps " + retryingRun, "nothing to end", 0},
		{"bulk wake --workflow order --sleeps", "woken: 2 runs; 6 runs so already", 0},
		{"bulk wake --workflow order --retries", "woken: 3 runs; 5 runs so already", 1},               // two are blocked
		{"runs wake --retries " + retryingRun, "ended 1 retry delay of run " + retryingRun + "\n", 1}, // the same request
		{"runs wake " + retryingRun, "ended 1 retry delay of run " + retryingRun + "\n", 1},
		{"runs wake later", "begin it now:  stepwell runs wake later --starts", 1},
		{"bulk wake --workflow order --starts", "woken: 2 runs; 8 runs so already", 1},
		{"runs wake later --starts", "nothing to end", 1},
	} {
		code, out, errs := call{now: today}.do(context.Background(), append(strings.Fields(step.args), "--db", path)...)
		if code != exitOK || !strings.Contains(out, step.out) || errs != "" {
			t.Errorf("%s: exit code %d, stdout %q, stderr %q; want %q", step.args, code, out, errs, step.out)
		}
		w, err := sqlite.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		r, err := w.Run(t.Context(), retryingRun)
		if again := w.Close(); err != nil || again != nil || r.Queue.Mail != step.mail {
			t.Fatalf("%s: %d mails wait, want %d; %v, %v", step.args, r.Queue.Mail, step.mail, err, again)
		}
	}
}

// TestResultOfAHaltedRun: whoever waits for a run that waits for somebody is told so, before they wait.
func TestResultOfAHaltedRun(t *testing.T) {
	path := fixture(t)
	for run, want := range map[string]string{
		blockedRun: "run " + blockedRun + " is blocked and does not continue by itself; see why:  stepwell runs show " + blockedRun,
		waitingRun: "",
	} {
		code, _, errs := call{now: now}.do(context.Background(), "runs", "result", run, "--patience", "1ms", "--db", path)
		if code != exitLater || !strings.Contains(errs, want) || want == "" && strings.Contains(errs, "by itself") {
			t.Errorf("exit code %d, stderr %q; want %q", code, errs, want)
		}
	}
}
