package cli

// What command lines come to: exit codes, messages, and what they did.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/sqlite"
)

func TestExitCodes(t *testing.T) {
	path := fixture(t)
	dir := t.TempDir()
	text := filepath.Join(dir, "notes.txt")
	if err := os.WriteFile(text, []byte(strings.Repeat("this is no database\n", 500)), 0o600); err != nil {
		t.Fatal(err)
	}
	for args, test := range map[string]struct {
		code int
		says string // part of stderr
	}{
		"runs list":                 {exitOK, ""},
		"runs list --workflow none": {exitOK, "no runs in"},
		"runs list --limit 0":       {exitUsage, "--limit 0"},
		"runs list --limit many":    {exitUsage, "stepwell runs list --help"},
		"runs list --status done":   {exitUsage, "pending, running, completed"},
		"runs list --status blocked,paused,queued,sleeping,waiting,delayed,working,retrying,damaged": {exitOK, ""},
		"runs list --since 1d12h":                             {exitOK, ""},
		"runs list --since 2026-05-01":                        {exitOK, ""},
		"runs list --version -1":                              {exitUsage, "--version -1"},
		"runs list --key none":                                {exitOK, "no runs in"},
		"runs list --parent wrun_01J":                         {exitUsage, "13 runs have IDs that begin with"},
		"runs list --attr city=Ulm --attr city=Bonn":          {exitUsage, "--attr city is there twice"},
		"bulk cancel --attr city=Ulm --attr city=Bonn":        {exitUsage, "--attr city is there twice"},
		"bulk cancel --workflows order":                       {exitUsage, "unknown flag: --workflows"},
		"runs start order 7 --attr city=Ulm --attr city=Bonn": {exitUsage, "--attr city is there twice"},
		"bulk cancel --prefix wrun_none":                      {exitOK, ""},
		"runs list --since yesterday":                         {exitUsage, "--since \"yesterday\" is not a time"},
		"runs list --since -5m":                               {exitUsage, "is not a time"},
		"runs list extra":                                     {exitUsage, "too many arguments"},
		"runs list --colour":                                  {exitUsage, "unknown flag: --colour"},
		"runs lst":                                            {exitUsage, "did you mean stepwell runs list?"},
		"rnus":                                                {exitUsage, "did you mean stepwell runs?"},
		"dance":                                               {exitUsage, "see stepwell --help"},
		"runs show":                                           {exitUsage, "runs show: missing argument"},
		"runs show wrun_none":                                 {exitNotFound, "list the runs:  stepwell runs list"},
		"runs show x":                                         {exitNotFound, "there is no run x"},
		"runs show wrun_01JD3":                                {exitOK, ""},
		"runs show 01JD3V7Q5Z":                                {exitOK, ""},
		"runs show wrun_01JD3V7Q5Z…":                          {exitOK, ""},
		"runs show wrun_01J":                                  {exitUsage, "13 runs have IDs that begin with"},
		"runs cancel " + failedRun:                            {exitOver, "is over"},
		"runs cancel wrun_none":                               {exitNotFound, "there is no run"},
		"runs cancel --force " + failedRun:                    {exitOver, "is over"},
		"runs pause " + failedRun:                             {exitOver, "is over"},
		"runs pause wrun_none":                                {exitNotFound, "there is no run"},
		"runs resume " + failedRun:                            {exitOver, "is over"},
		"runs resume":                                         {exitUsage, "runs resume: missing argument"},
		"runs wake " + failedRun:                              {exitOver, "is over"},
		"runs wake wrun_none":                                 {exitNotFound, "there is no run"},
		"hooks lst":                                           {exitUsage, "did you mean stepwell hooks list?"},
		"hooks list --token none":                             {exitOK, "no active hooks in"},
		"hooks list --run wrun_none":                          {exitNotFound, "there is no run"},
		"hooks send":                                          {exitUsage, "hooks send: missing argument"},
		"hooks send none 1":                                   {exitNotFound, "there is no active hook with the token none"},
		"hooks send order-7 {":                                {exitUsage, "not JSON"},
		"hooks send " + strings.Repeat("x", 2000):             {exitUsage, "nothing was changed"},
		"runs signal " + waitingRun:                           {exitUsage, "runs signal: missing argument"},
		"runs signal " + waitingRun + " verify {":             {exitUsage, "not JSON"},
		"runs signal " + waitingRun + " verify 1 2":           {exitUsage, "too many arguments"},
		"runs signal " + failedRun + " verify":                {exitOver, "see how it ended"},
		"runs signal wrun_none verify":                        {exitNotFound, "there is no run wrun_none"},
		"hooks heartbeat":                                     {exitUsage, "hooks heartbeat: missing argument"},
		"hooks heartbeat none":                                {exitNotFound, "there is no active hook with the token none"},
		"hooks heartbeat order-7":                             {exitUsage, "it has no HeartbeatTimeout"},
		"runs signal " + waitingRun + " " + strings.Repeat("x", 300): {exitUsage, "nothing was changed"},
		"events " + waitingRun + " --type step":                      {exitUsage, "step_created"},
		"events wrun_none":                                           {exitNotFound, "there is no run"},
		"runs list --db mysql://localhost/x":                         {exitUsage, `of the kind "mysql"`},
		"runs list --db postgres://u:secret@127.0.0.1:1/x":           {exitFailure, "no connection"},
		"runs list --db sqlite:":                                     {exitUsage, "give sqlite:PATH"},
		"runs list --db " + filepath.Join(dir, "none.db"):            {exitNotFound, "sqlite.Open("},
		"runs cancel x --db " + filepath.Join(dir, "none.db"):        {exitNotFound, "there is no database"},
		"runs list --db " + text:                                     {exitFailure, "notes.txt"},
		"runs list --db " + dir:                                      {exitFailure, "directory"},
		"completion bash":                                            {exitOK, ""},
	} {
		t.Run(args, func(t *testing.T) {
			code, out, errs := call{env: map[string]string{"STEPWELL_DB": path}}.do(context.Background(), strings.Fields(args)...)
			if code != test.code || !strings.Contains(errs, test.says) {
				t.Errorf("exit code %d, stderr %q; want %d, and %q in it", code, errs, test.code, test.says)
			}
			if code != exitOK && out != "" {
				t.Errorf("it failed, and wrote to stdout: %q", out)
			}
			if code != exitOK && !strings.HasPrefix(errs, "stepwell: ") {
				t.Errorf("stderr %q does not say who speaks", errs)
			}
		})
	}
	if _, err := os.Stat(filepath.Join(dir, "none.db")); err == nil {
		t.Error("a command that only looks has made a database")
	}
}

// TestWhichDatabase: the flag counts before the environment, and that before the default.
func TestWhichDatabase(t *testing.T) {
	path := fixture(t)
	none := filepath.Join(t.TempDir(), "none.db")
	for name, test := range map[string]struct {
		flag, env string
		code      int
	}{
		"plain path":        {path, "", exitOK},
		"URL":               {"sqlite:" + path, "", exitOK},
		"environment":       {"", "sqlite:" + path, exitOK},
		"flag before env":   {path, none, exitOK},
		"env is not looked": {none, path, exitNotFound},
		"default":           {"", "", exitNotFound},
	} {
		t.Run(name, func(t *testing.T) {
			args := []string{"runs", "list"}
			if test.flag != "" {
				args = append(args, "--db", test.flag)
			}
			code, _, errs := call{env: map[string]string{"STEPWELL_DB": test.env}}.do(context.Background(), args...)
			if code != test.code {
				t.Errorf("exit code %d, want %d; stderr: %s", code, test.code, errs)
			}
			if name == "default" && !strings.Contains(errs, "stepwell.db") {
				t.Errorf("stderr %q does not name the default", errs)
			}
		})
	}
}

// TestSignalAndCancel: what is sent is in the inbox, once for a delivery ID.
func TestSignalAndCancel(t *testing.T) {
	path := fixture(t)
	mail := func() int {
		w, err := sqlite.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer w.Close()
		r, err := w.Run(t.Context(), waitingRun)
		if err != nil {
			t.Fatal(err)
		}
		return r.Queue.Mail
	}
	for _, step := range []struct {
		stdin string
		args  []string
		want  int    // deliveries in the inbox afterwards
		says  string // on stdout
	}{
		{"", []string{"runs", "signal", waitingRun, "verify", `{"userId":"42"}`}, 1, "sent event \"verify\" to run " + waitingRun + "\n"},
		{" {\"userId\": \"43\"}\n", []string{"runs", "signal", "wrun_01JD3V", "verify", "-", "--delivery-id", "d1"}, 2, "sent"},
		{"", []string{"runs", "signal", waitingRun, "verify", `{"userId":"43"}`, "--delivery-id", "d1"}, 2, "sent"},
		{"", []string{"runs", "signal", waitingRun, "ping"}, 3, "sent"},
		{"", []string{"runs", "cancel", waitingRun, "--reason", "ordered twice"}, 4, "cancel requested: run " + waitingRun + "\n"},
	} {
		code, out, errs := call{stdin: step.stdin}.do(context.Background(), append(step.args, "--db", path)...)
		if code != exitOK || !strings.Contains(out, step.says) || errs != "" {
			t.Fatalf("%q: exit code %d, stdout %q, stderr %q; want 0 and %q", step.args, code, out, errs, step.says)
		}
		if got := mail(); got != step.want {
			t.Errorf("%q: %d deliveries in the inbox, want %d", step.args, got, step.want)
		}
	}
}

// TestOperate: what pauses, resumes, wakes, sends to hooks and ends runs does so at once where nobody owns the run, and says what it did.
func TestOperate(t *testing.T) {
	path := fixture(t)
	row := func(id string) world.Run {
		t.Helper()
		w, err := sqlite.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer w.Close()
		r, err := w.Run(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	for _, step := range []struct {
		args  []string
		run   string
		says  string // on stdout
		holds func(r world.Run) bool
	}{
		{[]string{"runs", "pause", sleepingRun, "--reason", "audit"}, sleepingRun, "paused run " + sleepingRun + "\n", func(r world.Run) bool { return r.Queue.Paused }},
		{[]string{"runs", "pause", sleepingRun}, sleepingRun, "paused run", func(r world.Run) bool { return r.Queue.Paused }},
		{[]string{"runs", "resume", sleepingRun}, sleepingRun, "resumed run " + sleepingRun + "\n", func(r world.Run) bool { return !r.Queue.Paused }},
		{[]string{"runs", "resume", sleepingRun}, sleepingRun, "was not paused\n", func(r world.Run) bool { return !r.Queue.Paused }},
		{[]string{"runs", "pause", workingRun}, workingRun, "pause requested: ", func(r world.Run) bool { return r.Queue.Mail == 1 }},
		{[]string{"runs", "wake", sleepingRun}, sleepingRun, "ended 1 sleep of run " + sleepingRun + "\n", func(r world.Run) bool { return r.Queue.Mail == 1 }},
		{[]string{"runs", "wake", sleepingRun}, sleepingRun, "ended 1 sleep", func(r world.Run) bool { return r.Queue.Mail == 1 }}, // the same request
		{[]string{"runs", "wake", waitingRun}, waitingRun, "has no such wait: nothing to end", func(r world.Run) bool { return r.Queue.Mail == 0 }},
		{[]string{"hooks", "heartbeat", "order 8's", "--details", `{"page":3}`}, hookRun, "still working on it", func(r world.Run) bool { return r.Queue.Mail == 1 }},
		{[]string{"hooks", "heartbeat", "order 8's"}, hookRun, "still working on it", func(r world.Run) bool { return r.Queue.Mail == 1 }},
		{[]string{"hooks", "send", "order-7", `{"approved":true}`}, hookRun, "with the token order-7\n", func(r world.Run) bool { return r.Queue.Mail == 2 }},
		{[]string{"hooks", "send", "order-7", "1", "--delivery-id", "d"}, hookRun, "sent", func(r world.Run) bool { return r.Queue.Mail == 3 }},
		{[]string{"hooks", "send", "order-7", "1", "--delivery-id", "d"}, hookRun, "sent", func(r world.Run) bool { return r.Queue.Mail == 3 }},
		{[]string{"runs", "cancel", "--force", hookRun, "--reason", "lost"}, hookRun, "cancelled run " + hookRun, func(r world.Run) bool { return r.Status == world.Cancelled }},
		{[]string{"runs", "cancel", "--force", workingRun}, workingRun, "cancelled run", func(r world.Run) bool { return r.Status == world.Cancelled }},
	} {
		code, out, errs := call{}.do(context.Background(), append(step.args, "--db", path)...)
		if code != exitOK || !strings.Contains(out, step.says) || errs != "" {
			t.Fatalf("%q: exit code %d, stdout %q, stderr %q; want 0 and %q", step.args, code, out, errs, step.says)
		}
		if r := row(step.run); !step.holds(r) {
			t.Errorf("%q: afterwards the run is %s, its queue row %+v", step.args, r.Status, r.Queue)
		}
	}
	code, _, errs := call{}.do(context.Background(), "hooks", "send", "order-7", "--db", path)
	if code != exitOver {
		t.Errorf("send to a hook of a run that is over: exit code %d, stderr %q, want %d", code, errs, exitOver)
	}
}

// TestJSONReadsBack: what --json writes reads back as the types of the packages stepwell and world.
func TestJSONReadsBack(t *testing.T) {
	path := fixture(t)
	_, out, _ := call{}.do(context.Background(), "runs", "list", "--json", "--db", path)
	lines := strings.Split(strings.TrimSpace(out), "\n")
	var r stepwell.RunInfo
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &r); err != nil || r.ID != waitingRun || r.Queue == nil || r.Key != "user-42" || r.Retention != stepwell.Span(30*24*time.Hour) {
		t.Errorf("the oldest run reads back as %+v, %v", r, err)
	}
	_, out, _ = call{}.do(context.Background(), "events", waitingRun, "--json", "--db", path)
	for line := range strings.Lines(out) {
		var e world.Event
		if err := json.Unmarshal([]byte(line), &e); err != nil || e.Seq == 0 || e.Type == "" {
			t.Errorf("%s reads back as %+v, %v", line, e, err)
		}
	}
}

// TestCompletion: a shell is offered the runs that are there, and what flags may say.
func TestCompletion(t *testing.T) {
	env := map[string]string{"STEPWELL_DB": fixture(t)}
	for args, want := range map[string]string{
		"runs show wrun_01JD3":        waitingRun + "\tonboard-user, running\n:4\n",
		"runs cancel wrun_none":       ":4\n",
		"runs signal " + failedRun:    failedRun + "\torder, failed\n:4\n",
		"export wrun_x wrun_01JD3":    waitingRun + "\tonboard-user, running\n:4\n",
		"export --workflow onb":       "onboard-user\t1 of its runs are not over\n:4\n",
		"hooks list --run wrun_01JD3": waitingRun + "\tonboard-user, running\n:4\n",
		"runs list --status comp":     strings.Join(statuses(), "\n") + "\n:4\n",
		"runs start onb":              "onboard-user\t1 of its runs are not over\n:4\n",
		"runs result wrun_01JD3":      waitingRun + "\tonboard-user, running\n:4\n",
		"hooks send order-":           "order-7\trun " + hookRun + "\n:4\n",
		"events x --type run_created": strings.ReplaceAll(typeNames(), ", ", "\n") + "\n:4\n",
	} {
		code, out, errs := call{env: env}.do(context.Background(), append([]string{"__complete"}, strings.Fields(args)...)...)
		if code != exitOK || out != want {
			t.Errorf("%s: exit code %d, stdout %q, stderr %q; want 0 and %q", args, code, out, errs, want)
		}
	}
}

// A program tells a used delivery ID from a mistake on its command line, as it does over REST.
func TestCodesOfWhatIsRefused(t *testing.T) {
	c := newCLI(process())
	for want, err := range map[string]error{
		"DELIVERY_USED": fmt.Errorf("send: %w", stepwell.ErrDeliveryUsed),
		"INVALID":       &stepwell.RetryRefusedError{Advice: stepwell.RetryAdvice{Refused: "it undid what it did"}},
		"RUN_EXISTS":    stepwell.ErrRunExists,
		"NOT_FOUND":     stepwell.ErrNotFound,
	} {
		var f *fault
		if told := c.explain(err, "run-1"); !errors.As(told, &f) || codeOf(told, f.code) != want {
			t.Errorf("%v: %v has the code %s, want %s", err, told, codeOf(told, f.code), want)
		}
	}
}

// TestOneTableOfOutcomes: exit codes, and codes of --json, come from one table, which has those of package world as
// they are over REST.
func TestOneTableOfOutcomes(t *testing.T) {
	c := newCLI(process())
	topic, exitOfCode := exitCodes(), map[string]int{}
	for _, o := range outcomes {
		if !slices.ContainsFunc(exits, func(e struct {
			exit int
			says string
		}) bool {
			return e.exit == o.Exit && e.exit != exitOK
		}) {
			t.Errorf("%s ends with %d, of which nothing is said", o.Code, o.Exit)
		}
		if was, ok := exitOfCode[o.Code]; ok && was != o.Exit {
			t.Errorf("%s ends with %d and with %d", o.Code, was, o.Exit)
		}
		exitOfCode[o.Code] = o.Exit
		if !slices.Contains(strings.Fields(topic), o.Code) {
			t.Errorf("help exit-codes lacks %s:\n%s", o.Code, topic)
		}
	}
	for _, known := range world.Codes() {
		err := fmt.Errorf("do: %w", known.Err)
		for how, told := range map[string]error{"explained": c.explain(err, "run-1"), "of a hook": c.explainHook(err, "t"), "as it is": err} {
			var said strings.Builder
			exit := report(&said, t.Context(), told, true)
			var f failure
			if err := json.Unmarshal([]byte(said.String()), &f); err != nil || exit != known.Exit || f.Exit != exit || f.Code != known.Code {
				t.Errorf("%s, %s: exit code %d, %s; want %d", known.Code, how, exit, said.String(), known.Exit)
			}
		}
	}
	for exit, want := range map[int]string{
		exitFailure: "FAILED", exitUsage: "USAGE", exitNotFound: "NOT_FOUND", exitOver: "RUN_OVER", exitLater: "INBOX_FULL", exitExists: "RUN_EXISTS",
		exitPartly: "PARTLY", exitDiverged: "DIVERGED", exitNotCompleted: "NOT_COMPLETED", exitInterrupted: "INTERRUPTED",
	} {
		if got := codeOf(errors.New("something"), exit); got != want {
			t.Errorf("exit code %d of an error that is nobody's is %s, want %s", exit, got, want)
		}
	}
}
