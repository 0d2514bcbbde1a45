package main

// Each tool, on a real file and a real server of PostgreSQL, over standard input and output.

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/internal/pgtest"
	"github.com/stepwell/stepwell/world"
)

type object = map[string]any

func TestReads(t *testing.T)           { testReads(t, sqliteURL(t)) }
func TestReadsOnPostgres(t *testing.T) { testReads(t, pgtest.URL(t)) }

// testReads: each tool that reads tells what there is, and none shows a payload.
func testReads(t *testing.T, url string) {
	database(t, url)
	s := stdio(t, "--db", url)

	list := ask[listRunsOut](s, "list_runs", object{"limit": 3})
	if len(list.Runs) != 3 || list.Cursor == "" {
		t.Fatalf("list_runs: %d runs, cursor %q", len(list.Runs), list.Cursor)
	}
	all := list.Runs
	for list.Cursor != "" {
		list = ask[listRunsOut](s, "list_runs", object{"limit": 3, "cursor": list.Cursor})
		all = append(all, list.Runs...)
	}
	ids := map[string]bool{}
	for _, r := range all {
		ids[r.ID] = true
	}
	if len(all) != 9 || len(ids) != 9 {
		t.Errorf("list_runs, page by page: %d runs, %d of them different, want 9", len(all), len(ids))
	}
	for status, want := range map[string]string{"failed": failedRun, "blocked": blockedRun, "retrying": retryingRun, "limited": limitedRun} {
		var got listRunsOut
		eventually(t, "list_runs of status "+status+" alone has "+want, func() bool { // those that are blocked or retried are at work now and then
			got = ask[listRunsOut](s, "list_runs", object{"status": []string{status}, "since": "1h"})
			return len(got.Runs) == 1 && got.Runs[0].ID == want
		})
		if status == "limited" && got.Runs[0].Why.Text != `in line for limit "limited"` {
			t.Errorf("list_runs of what stands in line: %q", got.Runs[0].Why.Text)
		}
	}
	if got := ask[listRunsOut](s, "list_runs", object{"search": "key-of-" + hookRun}); len(got.Runs) != 1 || got.Runs[0].ID != hookRun {
		t.Errorf("list_runs by key: %+v", got.Runs)
	}

	for run, want := range map[string]stepwell.WhyKind{
		failedRun: stepwell.WhyOver, completedRun: stepwell.WhyOver, waitingRun: stepwell.WhyEvent, hookRun: stepwell.WhyHook, retryingRun: stepwell.WhyRetry,
		blockedRun: stepwell.WhyBlocked, limitedRun: stepwell.WhyLimit, sleepingRun: stepwell.WhySleep,
	} {
		var one getRunOut
		var why explainOut
		eventually(t, run+" by both: "+string(want), func() bool { // as above
			one = ask[getRunOut](s, "get_run", object{"run": run})
			why = ask[explainOut](s, "explain_why", object{"run": "key-of-" + run})
			return one.Why.Kind == want && why.Why.Kind == want
		})
		if one.Run.ID != run || why.Run != run || why.Why.Text == "" {
			t.Errorf("run %s: get_run says %+v, explain_why %+v, want %s", run, one.Why, why, want)
		}
	}
	failed := ask[getRunOut](s, "get_run", object{"run": failedRun})
	if failed.Run.Error == nil || failed.Run.Error.Message != hidden || failed.Retry == nil || !slices.Equal(failed.Retry.Steps, []string{"charge"}) {
		t.Errorf("get_run of the run that failed: error %+v, retry %+v", failed.Run.Error, failed.Retry)
	}
	if steps := failed.Journal.Steps; len(steps) != 1 || steps[0].Name != "charge" || steps[0].Error == nil || !strings.Contains(steps[0].Error.Where, "fixture_test.go") {
		t.Errorf("get_run of the run that failed: steps %+v", steps)
	}
	if waiting := ask[getRunOut](s, "get_run", object{"run": waitingRun}); waiting.Journal.SetAside != 1 || waiting.Journal.Unread != 1 || !strings.Contains(waiting.Why.Text, "set aside") {
		t.Errorf("get_run of the run that waits: %+v, %q", waiting.Journal, waiting.Why.Text)
	}
	eventually(t, "the code of the blocked run", func() bool {
		blocked := ask[explainOut](s, "explain_why", object{"run": blockedRun})
		return blocked.Why.Block != nil && blocked.Why.Block.Code == world.CodePanic
	})

	events := ask[getEventsOut](s, "get_events", object{"run": completedRun, "limit": 2})
	total := len(events.Events)
	for events.Next != 0 {
		events = ask[getEventsOut](s, "get_events", object{"run": completedRun, "limit": 2, "after": events.Next})
		total += len(events.Events)
	}
	if last := events.Events[len(events.Events)-1]; last.Type != world.RunCompleted || last.Seq != int64(total) {
		t.Errorf("get_events: %d events, the last %+v", total, last)
	}
	if got := ask[getEventsOut](s, "get_events", object{"run": failedRun, "types": []string{"step_failed"}}); len(got.Events) != 1 || got.Events[0].Error.Message != hidden {
		t.Errorf("get_events of a type: %+v", got.Events)
	}

	failures := ask[listFailuresOut](s, "list_failures", object{})
	if failures.Failed != 1 || failures.Blocked != 1 || failures.Retrying != 1 || len(failures.Causes) != 3 {
		t.Errorf("list_failures: %+v", failures)
	}
	for _, c := range failures.Causes {
		if want := map[world.Status]string{world.StandsRetrying: `step "call"`}[c.Status]; c.Message != want && (want != "" || c.Message != hidden) {
			t.Errorf("list_failures: the cause %+v", c)
		}
	}
	if got := ask[doctorOut](s, "doctor", object{}); len(got.Findings) < 10 {
		t.Errorf("doctor: %+v", got)
	}
	if got := ask[listOut[workerRow]](s, "list_workers", object{}); len(got.Items) != 1 || len(got.Items[0].Workflows) != 9 {
		t.Errorf("list_workers: %+v", got)
	}
	if got := ask[listOut[queueRow]](s, "list_queues", object{}); len(got.Items) != 1 || got.Items[0].Counts["ready"] != 1 {
		t.Errorf("list_queues: %+v", got)
	}
	if got := ask[listOut[scheduleRow]](s, "list_schedules", object{}); len(got.Items) != 1 || got.Items[0].Name != "nightly" || len(got.Items[0].Next) != 3 {
		t.Errorf("list_schedules: %+v", got)
	}
	if got := ask[listOut[limitRow]](s, "list_limits", object{}); len(got.Items) != 1 || got.Items[0].Number != 1 {
		t.Errorf("list_limits: %+v", got)
	}
	if got := ask[listOut[workflowRow]](s, "list_workflows", object{}); len(got.Items) != 8 {
		t.Errorf("list_workflows: %+v", got)
	}
	s.hides(canary)
	s.hides("seven")

	if said := s.refuses("get_run", object{"run": "nobody"}); !strings.Contains(said, "NOT_FOUND") || !strings.Contains(said, "there is no run nobody") || !strings.Contains(said, "stepwell runs list") {
		t.Errorf("a run that is not there: %q", said)
	}
}

// TestPayloads: they are shown where that was asked for, each cut where it is long; tokens are not.
func TestPayloads(t *testing.T) {
	url := sqliteURL(t)
	app := database(t, url)
	start(t, app, large, largeRun, order{Secret: canary})
	eventually(t, "the end of the large run", func() bool { return whyKind(t, app, largeRun) == stepwell.WhyOver })
	s := stdio(t, "--db", url, "--show-payloads")

	failed := ask[getRunOut](s, "get_run", object{"run": failedRun})
	if !strings.Contains(fmt.Sprint(failed.Run.Input), canary) || !strings.Contains(failed.Run.Error.Message, canary) || !strings.Contains(failed.Why.Text, canary) ||
		!strings.Contains(fmt.Sprint(failed.Run.Attributes["city"]), canary) {
		t.Errorf("get_run should show what the run is about: %+v", failed.Run)
	}
	if got := ask[explainOut](s, "explain_why", object{"run": hookRun}); strings.Contains(got.Why.Text, canary) || !strings.Contains(got.Why.Text, "token hidden") {
		t.Errorf("a hook's token should stay hidden: %+v", got.Why)
	}
	// Twelve megabytes of results.
	one := ask[getRunOut](s, "get_run", object{"run": largeRun})
	if one.Journal.LeftOut != 300-mostEntries/2 || !strings.Contains(fmt.Sprint(one.Run.Output), "… (") || one.Run.OutputBytes < 40_000 {
		t.Errorf("get_run of the large run: %d steps left out, output %.100v of %d bytes", one.Journal.LeftOut, one.Run.Output, one.Run.OutputBytes)
	}
	if got := ask[getEventsOut](s, "get_events", object{"run": largeRun, "limit": mostEvents}); len(got.Events) != mostEvents || got.Next == 0 {
		t.Errorf("get_events of the large run: %d events, next %d", len(got.Events), got.Next)
	}
	s.refuses("get_events", object{"run": largeRun, "limit": 100_000})
}

// TestReadOnly: without --allow-writes there is nothing that acts.
func TestReadOnly(t *testing.T) {
	url := sqliteURL(t)
	database(t, url)
	for _, writes := range []bool{false, true} {
		args := []string{"--db", url}
		if writes {
			args = append(args, "--allow-writes")
		}
		s := stdio(t, args...)
		all, err := s.ListTools(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		acts := 0
		for _, tool := range all.Tools {
			if tool.OutputSchema == nil || tool.Description == "" || tool.Annotations == nil {
				t.Errorf("%s lacks its description, the schema of its answer or its annotations", tool.Name)
			}
			if !tool.Annotations.ReadOnlyHint {
				acts++
			}
		}
		if want := map[bool]int{true: 8}[writes]; acts != want || len(all.Tools) != 11+want {
			t.Errorf("writes %v: %d tools, %d of which act; want %d", writes, len(all.Tools), acts, want)
		}
		if !writes {
			for _, name := range []string{"cancel_run", "bulk_runs", "retry_run"} {
				if _, err := s.CallTool(t.Context(), call(name, object{"run": waitingRun})); err == nil {
					t.Errorf("%s was not refused", name)
				}
			}
		}
	}
}
