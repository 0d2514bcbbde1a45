package cli

// Many runs at once, and filters.

import (
	"bytes"
	"context"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/sqlite"
)

func TestBulkCommands(t *testing.T) {
	path := fixture(t)
	for _, step := range []struct {
		args string
		code int
		out  string
		err  string
	}{
		{"bulk pause --workflow order --dry-run", exitOK, "runs; nothing was changed", ""},
		{"bulk pause --workflow none --dry-run", exitOK, "0 runs; nothing was changed", ""},
		{"bulk pause", exitUsage, "", "give a filter, or --all"},
		{"bulk pause --status over", exitUsage, "", "is not a status"},
		{"bulk pause --input email", exitUsage, "", "write PATH=VALUE"},
		{"bulk pause --attr email", exitUsage, "", "write NAME=VALUE"},
		{"bulk pause --input email=a@b.c --reason audit", exitOK, "paused: 1 run\n", ""},
		{"bulk pause --input email=a@b.c", exitOK, "paused: 0 runs; 1 run so already; nothing is left to do\n", ""},
		{"bulk resume --input email=a@b.c", exitOK, "resumed: 1 run\n", ""},
		{"bulk resume --input email=a@b.c", exitOK, "resumed: 0 runs; 1 run so already; nothing is left to do\n", ""},
		{"bulk pause --input email=a@b.c --expect 2", exitUsage, "", "the filter now finds 1 run instead of 2\n  nothing was changed"},
		{"bulk pause --input email=a@b.c --expect 0", exitUsage, "", "the filter now finds 1 run instead of 0"},
		{"bulk pause --input email=a@b.c --expect -1", exitUsage, "", "give the number that --dry-run printed"},
		{"bulk pause --input email=a@b.c --expect 1", exitOK, "paused: 1 run\n", ""},
		{"bulk resume --input email=a@b.c --expect 1", exitOK, "resumed: 1 run\n", ""},
		{"bulk wake --workflow onboard-user", exitOK, "so already", ""},
		{"bulk cancel --workflow none", exitOK, "cancel requested: 0 runs; nothing is left to do\n", ""},
		{"bulk cancel --workflow none --parallel 0", exitUsage, "", "--parallel 0"},
		{"bulk signal hello 7 --input email=a@b.c --delivery-id d", exitOK, "sent: 1 run\n", ""},
		{"bulk signal", exitUsage, "", "missing argument"},
		{"bulk signal hello {", exitUsage, "", "give a filter"},
		{"bulk signal hello { --all", exitUsage, "", "not JSON"},
		{"bulk retry --workflow order --json", exitOK, `","action":"retry","result":"created","workflow":"order"}`, ""},
		{"bulk retry --workflow order --json", exitOK, `{"run":"` + failedRun + `","action":"retry","result":"unchanged","workflow":"order"}`, ""},
		{"bulk retry --workflow order", exitOK, "retried: 0 runs; 1 run so already; nothing is left to do", ""},
		{"bulk pause --workflow order --status failed --dry-run", exitOK, "1 run; nothing was changed\nto do: 0 runs; so already: 0; would be refused: 1\n1 run refused: ", ""},
		{"bulk pause --workflow order --status failed --dry-run --json", exitOK, `{"runs":1,"would":0,"unchanged":0,"refused":1,"refusals":[{"count":1,"code":`, ""},
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

// stopping is where a command writes to that is interrupted after some lines.
type stopping struct {
	bytes.Buffer
	left int
	stop func()
}

func (s *stopping) Write(p []byte) (int, error) {
	if s.left--; s.left == 0 {
		s.stop()
	}
	return s.Buffer.Write(p)
}

// Who interrupts a bulk command is told how far it came, and the command that goes on: then each run has got the signal once.
func TestBulkIsInterrupted(t *testing.T) {
	path := fixture(t)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	out := stopping{left: 3, stop: stop}
	var errs bytes.Buffer
	code := run(ctx, []string{"bulk", "signal", "go", "7", "--workflow", "order", "--since", "2000h", "--parallel", "1", "--json", "--db", path}, &shell{
		stdin: strings.NewReader(""), stdout: &out, stderr: &errs, getenv: func(string) string { return "" }, now: func() time.Time { return now }, clock: func() time.Time { return now }, zone: time.UTC, who: "ann@laptop",
	})
	again := regexp.MustCompile(`stepwell (bulk signal go 7 --workflow order --since 2026-08-31T06:12:00Z --delivery-id dlvr_\w+ --db [^"\s]+)`).FindStringSubmatch(errs.String())
	if lines := strings.Count(out.String(), "\n"); code != exitInterrupted || lines != 3 || !strings.Contains(errs.String(), "sent: 3 runs") || again == nil {
		t.Fatalf("exit code %d, stderr %q, stdout %q; want 130, 3 lines, and how to go on", code, errs.String(), out.String())
	}
	if code, out, errs := (call{}).do(t.Context(), strings.Fields(again[1])...); code != exitOK || !strings.HasPrefix(out, "sent: ") {
		t.Fatalf("%s: exit code %d, stdout %q, stderr %q", again[0], code, out, errs)
	}
	w, err := sqlite.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = w.Close() }()
	page, err := w.Runs(t.Context(), world.RunQuery{Workflow: "order", Status: []world.Status{world.Pending, world.Running}})
	if err != nil || len(page.Runs) < 5 {
		t.Fatalf("got %d runs, %v; want some", len(page.Runs), err)
	}
	for _, r := range page.Runs {
		if r.Queue.Mail != 1 {
			t.Errorf("run %s has %d signals, want 1", r.ID, r.Queue.Mail)
		}
	}
}

// Long work says how far it is where somebody waits, or asks for it.
func TestBulkTellsItsProgress(t *testing.T) {
	path := fixture(t)
	for _, asked := range []bool{false, true} {
		var out, errs bytes.Buffer
		clock := now
		code := run(t.Context(), []string{"bulk", "pause", "--all", "--status", "running", "--parallel", "1", "--db", path, fmt.Sprint("--progress=", asked)}, &shell{
			stdin: strings.NewReader(""), stdout: &out, stderr: &errs, getenv: func(string) string { return "" },
			now: func() time.Time { clock = clock.Add(time.Second); return clock }, zone: time.UTC, who: "ann@laptop",
		})
		if told := strings.Contains(errs.String(), "paused so far: "); code != exitOK || told != asked {
			t.Errorf("asked for progress: %v: exit code %d, stderr %q, stdout %q", asked, code, errs.String(), out.String())
		}
	}
}
