package main

// What the tools that act do, and who the log says it was.

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/world"
)

func TestWrites(t *testing.T) {
	url := sqliteURL(t)
	app := database(t, url)
	s := stdio(t, "--db", url, "--allow-writes")

	if got := ask[acted](s, "pause_run", object{"run": sleepingRun, "reason": "the bank is closed"}); got.Run != sleepingRun || got.Action != "pause" {
		t.Errorf("pause_run: %+v", got)
	}
	eventually(t, "the pause", func() bool { return whyKind(t, app, sleepingRun) == stepwell.WhyPaused })
	why, err := app.Why(t.Context(), sleepingRun)
	if err != nil || !strings.HasSuffix(why.By, " through mcp tester 1.0") || why.Reason != "the bank is closed" {
		t.Errorf("the log should say who paused and why: %+v, %v", why, err)
	}
	if got := ask[acted](s, "resume_run", object{"run": sleepingRun}); got.Result != "resumed" {
		t.Errorf("resume_run: %+v", got)
	}
	s.refuses("wake_run", object{"run": sleepingRun})
	if got := ask[acted](s, "wake_run", object{"run": sleepingRun, "sleeps": true}); got.Sleeps != 1 {
		t.Errorf("wake_run: %+v", got)
	}
	eventually(t, "the end of the sleep", func() bool { return whyKind(t, app, sleepingRun) == stepwell.WhyOver })
	if said := s.refuses("pause_run", object{"run": sleepingRun}); !strings.Contains(said, "RUN_OVER") || !strings.Contains(said, "is over") {
		t.Errorf("a run that is over: %q", said)
	}

	for range 2 { // the same delivery
		if got := ask[acted](s, "signal_run", object{"run": waitingRun, "event": "verify", "payload": object{"number": 7, "secret": canary}, "deliveryId": "d-7"}); got.Event != "verify" {
			t.Errorf("signal_run: %+v", got)
		}
	}
	eventually(t, "the end of the wait", func() bool { return whyKind(t, app, waitingRun) == stepwell.WhyOver })
	s.refuses("signal_run", object{"run": hookRun, "event": ""})

	retried := ask[acted](s, "retry_run", object{"run": failedRun})
	if retried.Result != "created" || retried.From != failedRun {
		t.Errorf("retry_run: %+v", retried)
	}
	if got := ask[acted](s, "restart_run", object{"run": completedRun}); got.Result != "created" || got.Run == completedRun {
		t.Errorf("restart_run: %+v", got)
	}
	if said := s.refuses("retry_run", object{"run": completedRun}); !strings.Contains(said, "not retried: it has not failed") {
		t.Errorf("a retry of what completed: %q", said)
	}
	if got := ask[acted](s, "cancel_run", object{"run": hookRun, "reason": "recalled"}); got.Result != "requested" && got.Result != "cancelled" {
		t.Errorf("cancel_run: %+v", got)
	}
	// What looks like a flag is none.
	for _, run := range []string{"--force", "-f", "--db=other.db", ""} {
		s.refuses("cancel_run", object{"run": run})
	}
	if said := s.refuses("cancel_run", object{"run": limitedRun, "force": true}); !strings.Contains(said, "force") {
		t.Errorf("an argument that is not known: %q", said)
	}
	s.hides(canary)
	for _, line := range []string{
		`msg=audit who="mcp tester 1.0" what=pause_run run_id=sleeping-1 reason="the bank is closed"`, `what=cancel_run run_id=hook-1 reason=recalled`,
		`what=retry_run run_id=completed-1 refused=INVALID`, `what=signal_run run_id=waiting-1 act=verify`,
	} {
		if !strings.Contains(s.said.String(), line) {
			t.Errorf("the log has no %s:\n%s", line, s.said)
		}
	}
}

// TestBulk: nothing is done to many runs unless their number is given back, and then to no more.
func TestBulk(t *testing.T) {
	url := sqliteURL(t)
	app := database(t, url)
	const many = 40
	for i := range many {
		start(t, app, sleeps, fmt.Sprintf("nap-%d", i), order{Secret: canary})
	}
	s := stdio(t, "--db", url, "--allow-writes")
	naps := func(more object) object {
		args := object{"act": "cancel", "workflow": "sleep", "status": []string{"pending", "running"}, "reason": "recalled"}
		for name, value := range more {
			args[name] = value
		}
		return args
	}
	live := func() int {
		n, err := app.Count(t.Context(), stepwell.ListFilter{Workflow: "sleep", Status: []world.Status{world.Pending, world.Running}})
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	dry := ask[bulkOut](s, "bulk_runs", naps(nil))
	if !dry.DryRun || dry.Count != many+1 || dry.Done != 0 {
		t.Fatalf("without a count: %+v, want %d counted", dry, many+1)
	}
	for _, wrong := range []int{0, 1, many, 5000} {
		said := s.refuses("bulk_runs", naps(object{"expectedCount": wrong}))
		if !strings.Contains(said, fmt.Sprintf("the filter now finds %d runs instead of %d", many+1, wrong)) || !strings.Contains(said, "nothing was changed") {
			t.Errorf("with the count %d: %q", wrong, said)
		}
	}
	s.refuses("bulk_runs", naps(object{"expectedCount": -1}))
	s.refuses("bulk_runs", object{"act": "cancel", "expectedCount": many + 1}) // no filter
	s.refuses("bulk_runs", object{"act": "delete", "all": true})
	s.refuses("bulk_runs", object{"act": "wake", "all": true})
	if n := live(); n != many+1 {
		t.Fatalf("%d runs are alive, want all %d: nothing was to be done", n, many+1)
	}
	start(t, app, sleeps, "nap-late", order{Secret: canary})
	s.refuses("bulk_runs", naps(object{"expectedCount": many + 1})) // there is one more by now
	done := ask[bulkOut](s, "bulk_runs", naps(object{"expectedCount": many + 2}))
	if done.DryRun || done.Done != many+2 || done.Count != many+2 || done.Refused != 0 || len(done.Runs) != mostNamed {
		t.Errorf("with the count: %+v", done)
	}
	eventually(t, "the end of all", func() bool { return live() == 0 })
	s.hides(canary)
	if want := `what=bulk_runs act=cancel workflow.name=sleep status=pending,running`; !strings.Contains(s.said.String(), want) {
		t.Errorf("the log has no %s:\n%s", want, s.said)
	}
	signal := ask[bulkOut](s, "bulk_runs", object{"act": "signal", "workflow": "wait", "event": "verify", "payload": object{"number": 7, "secret": canary}})
	if signal.Count != 1 || !signal.DryRun {
		t.Errorf("a signal that is counted: %+v", signal)
	}
	if signal = ask[bulkOut](s, "bulk_runs", object{"act": "signal", "workflow": "wait", "event": "verify", "payload": object{"number": 7, "secret": canary}, "expectedCount": 1}); signal.Done != 1 {
		t.Errorf("a signal: %+v", signal)
	}
	run := waits.Get(app, waitingRun)
	if out, err := run.Result(context.WithoutCancel(t.Context())); err != nil || out != canary {
		t.Errorf("the run that was signalled: %q, %v", out, err)
	}
}
