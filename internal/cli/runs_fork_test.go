package cli

// New runs from old ones.

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
)

func TestForkRetryRestart(t *testing.T) {
	path := fixture(t)
	do := func(args ...string) (int, string, string) {
		return call{}.do(context.Background(), append(args, "--db", path)...)
	}
	for _, step := range []struct {
		args []string
		code int
		says string // on stdout, or stderr where it failed
	}{
		{[]string{"runs", "fork", waitingRun, "--at", "7", "--id", "the-fork"}, exitOK, "forked run " + waitingRun + " as run the-fork"},
		{[]string{"runs", "fork", waitingRun, "--at", "7", "--id", "the-fork"}, exitExists, "see it:  stepwell runs show"},
		{[]string{"events", "the-fork"}, exitOK, "from event 7 of run " + waitingRun},
		{[]string{"runs", "fork", waitingRun, "--at", "700"}, exitUsage, "has events 1 to 16"},
		{[]string{"runs", "fork", waitingRun, "--at", "0"}, exitUsage, "is not an event"},
		{[]string{"runs", "fork", waitingRun, "--result", "create-user"}, exitUsage, "write NAME=JSON"},
		{[]string{"runs", "fork", waitingRun, "--result", `none=1`}, exitUsage, `no step "none"`},
		{[]string{"runs", "fork", waitingRun, "--result", `create-user="usr_43"`, "--input", `{"email":"b@b.c"}`}, exitOK, "forked run"},
		{[]string{"runs", "fork", waitingRun, "--input", `{`}, exitUsage, "not JSON"},
		{[]string{"runs", "fork", "wrun_none"}, exitNotFound, "there is no run"},
		{[]string{"runs", "retry", failedRun}, exitOK, "retried run " + failedRun + " as run wrun_"},
		{[]string{"runs", "retry", failedRun}, exitOK, " already replaces run " + failedRun + "\n  see it:  stepwell runs show"},
		{[]string{"runs", "restart", failedRun, "--in-place"}, exitOK, " already replaces run " + failedRun + ""},
		{[]string{"runs", "retry", waitingRun}, exitUsage, "it has not failed"},
		{[]string{"runs", "restart", completedRun}, exitOK, "restarted run " + completedRun + " as run wrun_"},
		{[]string{"runs", "restart", "wrun_none"}, exitNotFound, "there is no run"},
		{[]string{"runs", "show", waitingRun}, exitOK, "forked at event 7 as   the-fork "},
		{[]string{"runs", "show", completedRun}, exitOK, "restarted as  wrun_"},
		{[]string{"runs", "show", failedRun}, exitOK, "retried as  wrun_"},
		{[]string{"runs", "show", failedRun, "--json"}, exitOK, `"retry": true`},
		{[]string{"runs", "list", "--origin", waitingRun}, exitOK, "the-fork"},
		{[]string{"runs", "list", "--parent", waitingRun}, exitOK, "no runs in"},
		{[]string{"runs", "list", "--origin", "a b"}, exitUsage, "run ID"},
		{[]string{"bulk", "cancel", "--origin", failedRun}, exitOK, "cancel requested: 1 run\n"},
	} {
		code, out, errs := do(step.args...)
		if code != step.code || !strings.Contains(out+errs, step.says) || code != exitOK && out != "" {
			t.Errorf("%q: exit code %d, stdout %q, stderr %q; want %d and %q", step.args, code, out, errs, step.code, step.says)
		}
	}
	var got made
	_, out, errs := do("runs", "retry", failedRun, "--json")
	if err := json.Unmarshal([]byte(out), &got); err != nil || got.From != failedRun || got.Result != "existed" || got.Run == "" {
		t.Errorf("--json: %q, %q, %v", out, errs, err)
	}
}
