package cli

// stepwell check, with real programs: this test's own binary, started anew, which is then a worker of the author's.

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/check"
	"github.com/stepwell/stepwell/stepwelltest"
	"github.com/stepwell/stepwell/world/sqlite"
)

// The variables that make this binary a worker, and say of what code, and which database it would open.
const (
	letterCode = "STEPWELL_TEST_LETTER"
	letterDB   = "STEPWELL_TEST_LETTER_DB"
)

// letter is a workflow as it was deployed once, "write,post", and as it was changed.
func letter(version int, steps ...string) *stepwell.Workflow[string, string] {
	return stepwell.Define("letter", func(ctx stepwell.Context, to string) (string, error) {
		//stepwell:allow environment what code prints while it is replayed is no part of the report
		if os.Getenv(letterCode) != "" {
			fmt.Println("writing to", to) //stepwell:allow logging what the test is of
		}
		for i, step := range steps {
			if i > 0 {
				if err := stepwell.Sleep(ctx, "a day", 24*time.Hour); err != nil {
					return "", err
				}
			}
			if step == "panic" {
				panic("out of ink") //stepwell:allow panics what the test is of
			}
			if err := stepwell.Do(ctx, step, func(context.Context) error { return nil }); err != nil {
				return "", err
			}
		}
		return to, nil
	}, stepwell.Version(version))
}

// work is the main of the worker.
func work(code string) int {
	fmt.Println("the worker starts")
	version := 1
	steps := strings.Split(code, ",")
	if steps[0] == "v2" {
		version, steps = 2, steps[1:]
	}
	if code != "stubborn" {
		check.Main(stepwell.Config{Definitions: []stepwell.Definition{letter(version, steps...)}})
	}
	w, err := sqlite.Open(os.Getenv(letterDB))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	_ = w.Close()
	return 0
}

// letters writes the histories of two runs, one that is over and one that waits.
func letters(t *testing.T) string {
	t.Helper()
	env := stepwelltest.New(t, letter(1, "write", "post"))
	first := stepwelltest.Start(env, letter(1, "write", "post"), "Ada")
	env.Advance(36 * time.Hour)
	second := stepwelltest.Start(env, letter(1, "write", "post"), "Bob")
	env.Advance(time.Hour)
	var all []byte
	for i, run := range []*stepwelltest.Run[string]{first, second} {
		path := filepath.Join(t.TempDir(), fmt.Sprint(i))
		run.Export(path)
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, text...)
	}
	path := filepath.Join(t.TempDir(), "letters.jsonl")
	if err := os.WriteFile(path, all, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestCheck(t *testing.T) {
	path := letters(t)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	db := filepath.Join(t.TempDir(), "app.db")
	t.Setenv(letterDB, db)
	for _, test := range []struct {
		code, files string // of the worker; of the command
		stdin       string
		exit        int
		out, errs   []string // in them
	}{
		{"write,post", path, "", exitOK, []string{"WORKFLOW   FITS  DIVERGED  UNKNOWN  FAILED\n", "letter v1     2         0        0       0\n"}, []string{"the worker starts\n", "writing to Ada\n"}},
		{"write,post", "", string(text), exitOK, []string{"letter v1     2 "}, nil},
		{"write,burn", path, "", exitDiverged, []string{
			"letter v1     1         1 ", "diverged  run run-1   letter v1   event ",
			`  the log has    step "post"`, `  the code asks  step "burn"   check_test.go:`,
		}, []string{"1 of 2 runs cannot continue with this code", "stepwell.Patched"}},
		{"write,post", path + " " + path + " --json", "", exitOK, []string{`{"check":"fits","run":"run-1"`, `{"action":"check","result":"fits","histories":4,"wrong":0}`}, nil},
		{"write,burn", path + " --json", "", exitDiverged, []string{
			`{"check":"diverged","run":"run-1"`, `"workflow":"letter","version":1,"events":`, `"code":"DIVERGED","seq":`, `"step":"post","expected":"step \"post\""`,
			`"actual":"step \"burn\"","where":"check_test.go:`, `"result":"wrong","histories":2,"wrong":1}`,
		}, []string{`{"code":"DIVERGED","error":"1 of 2 runs`}},
		{"v2,write,post", path, "", exitDiverged, []string{"letter v1     0         0        2 ", `workflow "letter" version 1 is not one of the program's definitions`}, nil},
		{"panic", path, "", exitDiverged, []string{"failed  run run-1   letter v1\n  workflow code panicked: out of ink   check_test.go:"}, nil},
		{"stubborn", path, "", exitFailure, nil, []string{"cannot open a database: call stepwell.Main, or check.Main", "and checked nothing"}},
		{"write,post", "", string(text[:len(text)-20]), exitFailure, nil, []string{"history, line ", "exit status 2, after 1 run"}},
		{"write,post", "", "", exitUsage, nil, []string{"there is no history to check"}},
		{"write,post", filepath.Join(t.TempDir(), "none"), "", exitUsage, nil, []string{"give the path of a file that stepwell export wrote"}},
	} {
		t.Setenv(letterCode, test.code)
		args := append(append([]string{"check"}, strings.Fields(test.files)...), "--", self)
		code, out, errs := call{stdin: test.stdin}.do(context.Background(), args...)
		if code != test.exit {
			t.Errorf("%s: exit code %d, want %d; stdout %s\nstderr %s", test.code, code, test.exit, out, errs)
		}
		for _, want := range test.out {
			if !strings.Contains(out, want) {
				t.Errorf("%s: stdout %s\nwant %q in it", test.code, out, want)
			}
		}
		for _, want := range test.errs {
			if !strings.Contains(errs, want) {
				t.Errorf("%s: stderr %s\nwant %q in it", test.code, errs, want)
			}
		}
	}
	if _, err := os.Stat(db); err == nil {
		t.Error("a program that is checked has made its database")
	}
	for args, says := range map[string]string{"check " + path: "name it after --", "check " + path + " --": "name it after --", "check " + path + " -- no-such-program": "start no-such-program"} {
		if code, out, errs := (call{}).do(context.Background(), strings.Fields(args)...); code != exitUsage || out != "" || !strings.Contains(errs, says) {
			t.Errorf("%s: exit code %d, stdout %q, stderr %q; want %d and %q", args, code, out, errs, exitUsage, says)
		}
	}
}
