package main

// Many runs at once, and filters.

import (
	"context"
	"strings"
	"testing"
)

func TestBulkCommands(t *testing.T) {
	path := fixture(t)
	for _, step := range []struct {
		args string
		code int
		out  string
		err  string
	}{
		{"bulk pause --workflow order --dry-run", exitOK, "runs; nothing was done", ""},
		{"bulk pause --workflow none --dry-run", exitOK, "0 runs; nothing was done", ""},
		{"bulk pause", exitUsage, "", "give a filter, or --all"},
		{"bulk pause --status over", exitUsage, "", "is no status"},
		{"bulk pause --input email", exitUsage, "", "write PATH=VALUE"},
		{"bulk pause --attr email", exitUsage, "", "write NAME=VALUE"},
		{"bulk pause --input email=a@b.c --reason audit", exitOK, "paused: 1 run\n", ""},
		{"bulk resume --input email=a@b.c", exitOK, "resumed: 1 run\n", ""},
		{"bulk signal hello 7 --input email=a@b.c --delivery-id d", exitOK, "sent: 1 run\n", ""},
		{"bulk signal", exitUsage, "", "missing argument"},
		{"bulk signal hello {", exitUsage, "", "give a filter"},
		{"bulk signal hello { --all", exitUsage, "", "not JSON"},
		{"bulk retry --workflow order --json", exitOK, `{"run":"` + failedRun + `","workflow":"order"}`, ""},
		{"bulk pause --workflow order --status failed", exitPartly, "paused: 0 runs; 1 run refused", "is over"},
		{"bulk cancle", exitUsage, "", "did you mean stepwell bulk cancel?"},
		{"runs list --input email=a@b.c --json", exitOK, `"id":"` + waitingRun, ""},
		{"runs list --attr city=Ulm", exitOK, "", "no runs in"},
	} {
		code, out, errs := call{}.do(context.Background(), append(strings.Fields(step.args), "--db", path)...)
		if code != step.code || !strings.Contains(out, step.out) || !strings.Contains(errs, step.err) {
			t.Errorf("%s: exit code %d, stdout %q, stderr %q; want %d, %q, %q", step.args, code, out, errs, step.code, step.out, step.err)
		}
	}
}
