package cli

// --json, of every command there is: what it says, and that it says nothing else.

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/stepwell/stepwell/world"
)

// noJSON are the commands that have no JSON to say: what they write is for shells, people, or other programs.
var noJSON = []string{"completion", "help", "server", "dev", "demo-worker", "mcp"}

// jsonCalls are calls of every other command, with members of the first object that they write; "": they write none. They share a database, in this order.
var jsonCalls = []struct {
	args  string
	stdin string
	code  int
	want  string // of the first object
}{
	{args: "runs list --status failed", want: `{"id":"` + failedRun + `","status":"failed"}`},
	{args: "runs show " + waitingRun, want: `{"why":{"kind":"event"}}`},
	{args: "runs tail " + failedRun, want: `{"type":"run_created"}`},
	{args: "events " + failedRun, want: `{"type":"run_created"}`},
	{args: "runs signal " + waitingRun + " verify 7", want: `{"run":"` + waitingRun + `","action":"signal","result":"sent","event":"verify"}`},
	{args: "runs wake " + sleepingRun, want: `{"run":"` + sleepingRun + `","action":"wake","result":"woken","sleeps":1}`},
	{args: "runs wake " + waitingRun, want: `{"run":"` + waitingRun + `","action":"wake","result":"unchanged","sleeps":0}`},
	{args: "runs pause " + sleepingRun, want: `{"run":"` + sleepingRun + `","action":"pause","result":"paused"}`},
	{args: "runs pause " + workingRun, want: `{"run":"` + workingRun + `","action":"pause","result":"requested"}`},
	{args: "runs resume " + sleepingRun, want: `{"run":"` + sleepingRun + `","action":"resume","result":"resumed"}`},
	{args: "runs resume " + sleepingRun, want: `{"run":"` + sleepingRun + `","action":"resume","result":"unchanged"}`},
	{args: "runs fork " + waitingRun + " --id f", want: `{"run":"f","action":"fork","result":"created","from":"` + waitingRun + `"}`},
	{args: "runs retry " + failedRun, want: `{"action":"retry","result":"created","from":"` + failedRun + `"}`},
	{args: "runs retry " + failedRun, want: `{"action":"retry","result":"existed","from":"` + failedRun + `"}`},
	{args: "runs restart " + failedRun + " --id r", want: `{"run":"r","action":"restart","result":"created","from":"` + failedRun + `"}`},
	{args: "runs cancel " + waitingRun, want: `{"run":"` + waitingRun + `","action":"cancel","result":"requested"}`},
	{args: "runs start order 7 --id s --attr city=Ulm --delay 2h", want: `{"run":"s","action":"start","result":"created","workflow":"order"}`},
	{args: "runs wake --retries " + retryingRun, want: `{"run":"` + retryingRun + `","action":"wake","result":"woken","retries":1,"sleeps":0}`},
	{args: "runs wake --starts s", want: `{"run":"s","action":"wake","result":"unchanged","sleeps":0}`},
	{args: "runs start order 7 --id s", code: exitExists, want: `{"code":"RUN_EXISTS","exit":6}`},
	{args: "runs result " + completedRun, want: `{"run":"` + completedRun + `","action":"result","result":"completed"}`},
	{args: "runs result --exactly " + failedRun, code: exitNotCompleted, want: `{"code":"NOT_COMPLETED","exit":9}`},
	{args: "runs result s --patience 1ms", code: exitLater, want: `{"code":"TIMEOUT","exit":5}`},
	{args: "runs cancel --force f", want: `{"run":"f","action":"cancel","result":"cancelled"}`},
	{args: "hooks list", want: `{"token":"order-7"}`},
	{args: "hooks send order-7 1", want: `{"run":"` + hookRun + `","action":"send","result":"sent","token":"order-7"}`},
	{args: "hooks heartbeat order-7", code: exitUsage, want: `{"code":"INVALID"}`},
	{args: "bulk pause --workflow order --dry-run", want: `{}`},
	{args: "init testdata", code: exitUsage, want: `{"code":"USAGE","exit":2}`},
	{args: "version", want: `{"go":"` + runtime.Version() + `"}`},
	{args: "bulk pause --input email=a@b.c", want: `{"run":"` + waitingRun + `"}`},
	{args: "bulk resume --input email=a@b.c", want: `{"run":"` + waitingRun + `"}`},
	{args: "bulk wake --input email=a@b.c", want: `{"run":"` + waitingRun + `","action":"wake","result":"unchanged"}`},
	{args: "bulk signal hi --input email=a@b.c", want: `{"run":"` + waitingRun + `"}`},
	{args: "bulk cancel --input email=a@b.c", want: `{"run":"` + waitingRun + `"}`},
	{args: "bulk retry --workflow order", want: `{"run":"` + failedRun + `"}`},
	{args: "bulk restart --workflow nobody", want: ""},
	{args: "workflows", want: `{"name":"onboard-user"}`},
	{args: "failures", want: `{"blocked":2,"healed":1}`}, // bulk retry above healed it
	{args: "retention", want: `{"retention":"365d","said":false}`},
	{args: "keys new k1", want: `{"id":"k1"}`},
	{args: "keys check", want: `{"key":"","here":true,"all":true}`},
	{args: "workers", want: `{"name":"host:42","lost":false}`},
	{args: "export " + failedRun, want: `{"history":1,"run":"` + failedRun + `"}`},
	{args: "import", stdin: "exported", code: exitExists, want: `{"code":"RUN_EXISTS","exit":6}`},
	{args: "import --skip", stdin: "exported", want: `{"run":"` + failedRun + `","action":"import","result":"existed","status":"failed"}`},
	{args: "migrate", want: `{"action":"migrate","result":"up_to_date"}`},
	{args: "doctor", want: `{"health":"good"}`},
	{args: "streams list " + failedRun, want: ""},
	{args: "streams tail " + failedRun + " tokens", code: exitFailure, want: `{"code":"FAILED"}`},
	{args: "queues declare mails", want: `{"action":"declare","result":"declared","queue":"mails"}`},
	{args: "queues send mails 7", want: `{"action":"send","result":"sent","queue":"mails"}`},
	{args: "queues list", want: `{"name":"mails","visibility":"30s"}`},
	{args: "queues show mails", want: `{"name":"mails","maxReceives":20}`},
	{args: "queues peek mails", want: `{"payload":7,"state":"ready"}`},
	{args: "queues receive mails", want: `{"payload":7,"receives":1,"receipt":"` + world.Receipt(1, 1) + `"}`},
	{args: "queues extend mails " + world.Receipt(1, 1), want: `{"action":"extend","result":"extended","receipt":"` + world.Receipt(1, 1) + `"}`},
	{args: "queues nack mails " + world.Receipt(1, 1), want: `{"action":"nack","result":"returned","queue":"mails"}`},
	{args: "queues ack mails " + world.Receipt(1, 1), code: exitFailure, want: `{"action":"ack","result":"old","queue":"mails"}`},
	{args: "queues receive mails", want: `{"receives":2}`},
	{args: "queues bury mails " + world.Receipt(1, 2), want: `{"action":"bury","result":"buried","queue":"mails"}`},
	{args: "queues redrive mails", want: `{"action":"redrive","result":"redriven","messages":1}`},
	{args: "queues pause mails", want: `{"action":"pause","result":"paused"}`},
	{args: "queues resume mails", want: `{"action":"resume","result":"resumed"}`},
	{args: "queues purge mails --all", want: `{"action":"purge","result":"purged","messages":1}`},
	{args: "queues drop mails", want: `{"action":"drop","result":"dropped"}`},
	{args: "queues show mails", code: exitNotFound, want: `{"code":"NOT_FOUND","exit":3}`},
	{args: "topics subscribe bill # --url https://example.com", want: `{"action":"subscribe","result":"subscribed","subscription":"bill"}`},
	{args: "topics publish order.paid 7", want: `{"action":"publish","result":"published","topic":"order.paid"}`},
	{args: "topics publications", want: `{"topic":"order.paid","payload":7}`},
	{args: "schedules create nightly report --time @daily", want: `{"action":"create","result":"made","schedule":"nightly"}`},
	{args: "schedules list", want: `{"name":"nightly","workflow":"report","words":"at 00:00"}`},
	{args: "schedules show nightly", want: `{"name":"nightly","overlap":"skip"}`},
	{args: "schedules pause nightly", want: `{"action":"pause","result":"paused"}`},
	{args: "schedules resume nightly", want: `{"action":"resume","result":"resumed"}`},
	{args: "schedules trigger nightly --input 1", want: `{"action":"trigger","result":"triggered"}`},
	{args: "schedules backfill nightly --from 2020-01-01 --until 2020-01-01", want: `{"action":"backfill","result":"backfilled"}`},
	{args: "schedules delete nightly", want: `{"action":"delete","result":"deleted"}`},
	{args: "workflows hold nightly --note late", want: `{"action":"hold","result":"held","workflow":"nightly"}`},
	{args: "workflows release nightly", want: `{"action":"release","result":"released","workflow":"nightly"}`},
	{args: "limits list", want: ""},
	{args: "limits show import", code: exitNotFound, want: `{"code":"NOT_FOUND","exit":3}`},
	{args: "limits holders import", code: exitNotFound, want: `{"code":"NOT_FOUND","exit":3}`},
	{args: "limits set import 3", code: exitNotFound, want: `{"code":"NOT_FOUND","exit":3}`},
	{args: "vet", code: exitFailure, want: `{"code":"FAILED","exit":1}`}, // without stepwellvet; its own TestVet has the rest
	{args: "topics list", want: `{"name":"bill","pattern":"#"}`},
	{args: "topics show bill", want: `{"name":"bill","messages":"subscription.bill"}`},
	{args: "topics pause bill", want: `{"action":"pause","result":"paused","subscription":"bill"}`},
	{args: "topics resume bill", want: `{"action":"resume","result":"resumed"}`},
	{args: "topics redeliver bill", want: `{"action":"redeliver","result":"redelivered"}`},
	{args: "topics rotate-secret bill", want: `{"action":"rotate-secret","result":"rotated"}`},
	{args: "topics unsubscribe bill", want: `{"action":"unsubscribe","result":"unsubscribed"}`},
	{args: "topics show bill", code: exitNotFound, want: `{"code":"NOT_FOUND","exit":3}`},
	{args: "check -- no-such-program", code: exitUsage, want: `{"code":"USAGE","exit":2}`},
	{args: "demo extra", code: exitUsage, want: `{"code":"USAGE","exit":2}`}, // TestDemoKeeps has the rest
	{args: "health --timeout 1ns http://127.0.0.1:1", code: exitFailure, want: `{"healthy":false}`},

	{args: "runs value " + failedRun + " valu_01JD3V7Q61QK1ZXW0D8F4T6S2B", code: exitNotFound, want: `{"code":"NOT_FOUND","exit":3,"next":"see what it refers to:  stepwell runs show ` + failedRun + `"}`},
	{args: "runs value " + failedRun + " valu_none", code: exitUsage, want: `{"code":"INVALID","exit":2}`},
	{args: "runs show wrun_none", code: exitNotFound, want: `{"code":"NOT_FOUND","exit":3,"next":"list the runs:  stepwell runs list"}`},
	{args: "runs pause " + failedRun, code: exitOver, want: `{"code":"RUN_OVER","exit":4}`},
	{args: "runs fork " + waitingRun + " --id r", code: exitExists, want: `{"code":"RUN_EXISTS","exit":6}`},
	{args: "runs fork " + waitingRun + " --at 999", code: exitUsage, want: `{"code":"INVALID","exit":2}`},
	{args: "runs show", code: exitUsage, want: `{"code":"USAGE","exit":2}`},
	{args: "runs show --colour", code: exitUsage, want: `{"code":"USAGE","error":"unknown flag: --colour","exit":2}`},
	{args: "dance", code: exitUsage, want: `{"code":"USAGE","error":"there is no command stepwell dance"}`},
}

func TestEveryCommandHasJSON(t *testing.T) {
	path := fixture(t)
	t.Setenv("PATH", t.TempDir()) // with no other program
	env := map[string]string{"STEPWELL_DB": path}
	_, exported, _ := call{env: env}.do(context.Background(), "export", failedRun)
	called := map[string]bool{}
	root := rootCommand(newCLI(&shell{}))
	for _, test := range jsonCalls {
		if cmd, _, err := root.Find(strings.Fields(test.args)); err == nil {
			called[cmd.CommandPath()] = true
		}
		stdin := strings.ReplaceAll(test.stdin, "exported", exported)
		code, out, errs := call{env: env, stdin: stdin, terminal: true}.do(context.Background(), withJSON(strings.Fields(test.args))...)
		if code != test.code {
			t.Errorf("%s: exit code %d, want %d; stderr %s", test.args, code, test.code, errs)
			continue
		}
		objects := objectsOf(t, test.args, out)
		if code == exitOK && errs != "" || code != exitOK && len(objectsOf(t, test.args, errs)) != 1 {
			t.Errorf("%s: exit code %d, and stderr is not what it should be: %q", test.args, code, errs)
		}
		if code != exitOK && out == "" {
			objects = objectsOf(t, test.args, errs)
		}
		if test.want == "" && len(objects) > 0 || test.want != "" && (len(objects) == 0 || !contains(t, objects[0], test.want)) {
			t.Errorf("%s: got %v, want %s in the first", test.args, objects, test.want)
		}
	}
	for cmd := range commands(root) {
		_, name, _ := strings.Cut(cmd.CommandPath(), " ")
		first, _, _ := strings.Cut(name, " ")
		switch {
		case !cmd.Runnable() || cmd.HasSubCommands() || slices.Contains(noJSON, first):
		case cmd.Flags().Lookup("json") == nil:
			t.Errorf("%s has no --json", cmd.CommandPath())
		case !called[cmd.CommandPath()]:
			t.Errorf("%s: no call of it in jsonCalls", cmd.CommandPath())
		}
	}
}

// withJSON adds the flag, before what belongs to another program.
func withJSON(args []string) []string {
	if i := slices.Index(args, "--"); i >= 0 {
		return slices.Insert(slices.Clone(args), i, "--json")
	}
	return append(args, "--json")
}

// commands are all commands below one.
func commands(root *cobra.Command) func(yield func(*cobra.Command) bool) {
	return func(yield func(*cobra.Command) bool) {
		for _, cmd := range root.Commands() {
			if !yield(cmd) {
				return
			}
			for c := range commands(cmd) {
				if !yield(c) {
					return
				}
			}
		}
	}
}

// objectsOf are the JSON objects of a text that holds nothing else.
func objectsOf(t *testing.T, args, text string) (all []map[string]any) {
	t.Helper()
	dec := json.NewDecoder(strings.NewReader(text))
	for {
		var o map[string]any
		err := dec.Decode(&o)
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Errorf("%s: %q is not JSON: %v", args, text, err)
			return all
		}
		all = append(all, o)
	}
}

// contains reports whether an object has the members of another, with these values.
func contains(t *testing.T, got map[string]any, want string) bool {
	t.Helper()
	var members map[string]any
	if err := json.Unmarshal([]byte(want), &members); err != nil {
		t.Fatal(err)
	}
	return within(got, members)
}

func within(got, want map[string]any) bool {
	for name, v := range want {
		inner, nested := v.(map[string]any)
		mine, same := got[name].(map[string]any)
		if nested && (!same || !within(mine, inner)) || !nested && got[name] != v {
			return false
		}
	}
	return true
}
