package cli

// Starting runs, and waiting for their ends.

import (
	"bytes"
	"context"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/sqlite"
)

// today runs a command line by the clock that the worker has.
func today(t *testing.T, stdin string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), 20*time.Second)
	defer stop()
	var out, errs bytes.Buffer
	code = run(ctx, args, &shell{
		stdin: strings.NewReader(stdin), stdout: &out, stderr: &errs, getenv: func(string) string { return "" }, now: world.Now, zone: time.UTC, who: "ann@laptop",
	})
	return code, out.String(), errs.String()
}

func TestStartCommand(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "app.db")
	w, err := sqlite.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	works(t, w)
	keeps, err := stepwell.New(w, stepwell.Config{MaxRetention: stepwell.Forever})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := keeps.Start(t.Context(), "later", []byte("null"), stepwell.RunID("forever"), stepwell.Retention(stepwell.Forever), stepwell.Delay(24*time.Hour)); err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		args, stdin string
		code        int
		out, err    string
	}{
		{"runs start order {\"customer\":\"ada\"} --key k --id o1 --wait", "", exitNotCompleted, "", "nothing to pay"},
		{"runs start order {\"customer\":\"ada\"} --key k", "", exitOK, "run o1 was already started", ""},
		{"runs start order {\"customer\":\"ada\"} --key k --id o1", "", exitOK, "run o1 was already started", ""},
		{"runs start later --key k2 --id o6 --delay 1d", "", exitOK, "started run o6", ""},
		{"runs start later --key k2 --id forever", "", exitExists, "", "the idempotency key \"k2\" is that of another: run o6"},
		{"runs start order - --id o1", `{"customer":"ada"}`, exitExists, "", "runs show o1"},
		{"runs start order - --id o2 --attr city=Ulm --attr n=7 --context tag=x --priority 4 --timeout 7d --retention-days 9", `{"customer":"bob","cents":7}`, exitOK, "started run o2", ""},
		{"runs show o2", "", exitOK, "timeout 7 d", ""},
		{"runs start nowhere null --id n1", "", exitOK, "started run n1", "no worker has workflow nowhere: run n1 waits for a worker that does; workers have "},
		{"runs start nowhere null --id n2 --json", "", exitOK, `"run":"n2"`, "no worker has workflow nowhere"},
		{"runs start order null --version 9 --id n3", "", exitOK, "started run n3", "no worker has workflow order, version 9"},
		{"runs show o2 --json", "", exitOK, `"timeout": "7d"`, ""},
		{"runs list --attr city=Ulm --attr n=7", "", exitOK, "o2", ""},
		{"runs result o2 --patience 1ms", "", exitLater, "", "is not over after 1ms"},
		{"runs signal o2 paid 7", "", exitOK, "", ""},
		{"runs result o1", "", exitNotCompleted, "", "runs retry o1"},
		{"runs start later --delay 1d --id o3", "", exitOK, "started run o3", ""},
		{"runs cancel o3", "", exitOK, "", ""},
		{"runs result o3 --patience 20s", "", exitNotCompleted, "", "cancelled"},
		{"runs start later --delay 1d --id o4 --retention-days 400", "", exitOK, "it is kept for 1 y after its end, not 1 y 35 d, because of the limit here", ""},
		{"runs start later --delay 1d --id o5 --retention-days 400 --json", "", exitOK, `"retention":"365d"}`, ""},
		{"runs show forever", "", exitOK, "kept forever", ""},
		{"runs show forever --json", "", exitOK, `"retention": "forever"`, ""},
		{"runs list --workflow later --json", "", exitOK, `"retention":"forever"`, ""},
		{"runs result none", "", exitNotFound, "", "there is no run"},
		{"runs start", "", exitUsage, "", "missing argument"},
		{"runs start a%b", "", exitUsage, "", "workflow"},
		{"runs start order {", "", exitUsage, "", "not JSON"},
		{"runs start order -", `{"cents":1,"cents":2}`, exitUsage, "", "the payload has the member \"/cents\" twice"},
		{"runs start order -", "\"\xff\"", exitUsage, "", "it is not UTF-8 at byte 1"},
		{"runs start order - --json", `"` + strings.Repeat("x", 64<<20) + `"`, exitUsage, "", `"code":"TOO_LARGE","error":"too large: the payload has more than 67108864 bytes"`},
		{"runs start order -", `"` + strings.Repeat("x", 2<<20) + `"`, exitUsage, "", "expected an object, got the text"},
		{"runs start order {} --attr n={\"a\":1,\"a\":2}", "", exitUsage, "", "attribute \"n\" has the member \"/a\" twice"},
		{"runs fork o1 --result pay={\"a\":1,\"a\":2}", "", exitUsage, "", "has the member \"/a\" twice"},
		{"runs start later 1e400 --delay 1d --id o7", "", exitOK, "started run o7", ""}, // it is JSON: whether it fits is for the type to say
		{"runs start order --delay=", "", exitUsage, "", "--delay \"\": write it like 90s"},
		{"runs start order --timeout=", "", exitUsage, "", "--timeout \"\": write it like 90s"},
		{"runs result o1 --patience=", "", exitUsage, "", "--patience \"\": write it like 90s"},
		{"runs start order --key=", "", exitUsage, "", "--key is empty"},
		{"runs start order --id=", "", exitUsage, "", "--id is empty"},
		{"runs list --since=", "", exitUsage, "", "--since is empty"},
		{"runs list --until=", "", exitUsage, "", "--until is empty"},
		{"runs list --cursor nonsense", "", exitUsage, "", "cursor"},
		{"runs list --cursor nonsense --json", "", exitUsage, "", `"code":"INVALID"`},
		{"runs start order --delay soon", "", exitUsage, "", "--delay \"soon\": write it like 90s"},
		{"runs start order --timeout -1s", "", exitUsage, "", "--timeout"},
		{"runs start order --retention-days 99999", "", exitUsage, "", "--retention-days"},
		{"runs start later --id cart --key ann --delay 1d --send added={\"item\":7} --send seen", "", exitOK, "started run cart", ""},
		{"runs start later --key ann --send added=8", "", exitOK, "run cart was already started", ""},
		{"events cart --type signal_received --json", "", exitOK, `"name":"added"`, ""},
		{"runs start later --id no --delay 1d --send added={", "", exitUsage, "", "the payload of --send added"},
		{"runs start later --id no --delay 1d --send added=", "", exitUsage, "", "write EVENT=JSON"},
		{"runs start later --id no --delay 1d --send =7", "", exitUsage, "", "write EVENT=JSON"},
		{"runs show no", "", exitNotFound, "", "there is no run no"},
		{"runs start order --attr city", "", exitUsage, "", "write NAME=VALUE"},
		{"runs start order --context x", "", exitUsage, "", "write NAME=TEXT"},
		{"runs start order --priority 9", "", exitUsage, "", "riority"},
		{"runs result o1 --patience x", "", exitUsage, "", "--patience"},
	} {
		code, out, errs := today(t, step.stdin, append(strings.Fields(step.args), "--db", path)...)
		if code != step.code || !strings.Contains(out, step.out) || !strings.Contains(errs, step.err) {
			t.Errorf("%s: exit code %d, stdout %q, stderr %q; want %d, %q, %q", step.args, code, out, errs, step.code, step.out, step.err)
		}
	}
	var sent []string
	for cursor := ""; ; {
		page, err := w.Events(t.Context(), "cart", world.EventQuery{Cursor: cursor, Types: []world.EventType{world.SignalReceived}})
		if err != nil {
			t.Fatal(err)
		}
		for i := range page.Events {
			sent = append(sent, page.Events[i].Name+"="+string(page.Events[i].Payload))
		}
		if cursor = page.Cursor; !page.More {
			break
		}
	}
	if got := strings.Join(sent, " "); got != `added={"item":7} seen=null` {
		t.Errorf("the run has %s from its birth, want both events", got)
	}
	if cart, err := w.Run(t.Context(), "cart"); err != nil || cart.Queue == nil || cart.Queue.Mail != 1 {
		t.Errorf("cart: got %+v, %v, want what the second start sent in its mail", cart, err)
	}
	info, err := w.Run(t.Context(), "o2")
	if err != nil || info.Priority != 3 || info.Retention != 9*24*time.Hour {
		t.Errorf("o2: got %+v, %v, want priority 4, as the world counts 3, and 9 days", info, err)
	}
	for _, wait := range []string{"runs wake o2", "hooks send courier-bob \"Bob\""} { // it sleeps, or soon does
		for limit := time.Now().Add(20 * time.Second); ; <-time.After(10 * time.Millisecond) {
			code, out, errs := today(t, "", append(strings.Fields(wait), "--db", path)...)
			if code == exitOK && !strings.Contains(out, "nothing") {
				break
			}
			if time.Now().After(limit) {
				t.Fatalf("%s: got %d, %q, %q", wait, code, out, errs)
			}
		}
	}
	if code, out, errs := today(t, "", "runs", "result", "o2", "--db", path); code != exitOK || out != "\"shipped by Bob\"\n" {
		t.Errorf("result: got %d, %q, %q", code, out, errs)
	}
}
