package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// vetted is a module in which go vet has little to read: what stands for Stepwell, and a program with a workflow.
var vetted = map[string]string{
	"go.mod": "module github.com/stepwell/stepwell\n\ngo 1.26.0\n",
	"stepwell.go": `// Package stepwell stands for the real one.
package stepwell

import "time"

type Context struct{}

func (Context) Now() time.Time { return time.Time{} }

func Sleep(ctx Context, name string, d time.Duration) error { return nil }

type Workflow[In, Out any] struct{}

func Define[In, Out any](name string, fn func(ctx Context, in In) (Out, error)) *Workflow[In, Out] { return nil }
`,
	"examples/order/order.go": `package order

import (
	"time"

	"github.com/stepwell/stepwell"
)

type Order struct {
	ID    string
	Cents int
}

var Flow = stepwell.Define("order", func(ctx stepwell.Context, o Order) (string, error) {
	return o.ID, stepwell.Sleep(ctx, "cool-off", time.Hour)
})
`,
	"examples/shop/shop.go": `package shop

import (
	"time"

	"github.com/stepwell/stepwell"
)

func flow(ctx stepwell.Context, n int) (time.Time, error) {
	seen := time.Now() //stepwell:allow time it is only shown
	if n > 1 {
		go stamp()
		return seen, nil
	}
	return time.Now(), stepwell.Sleep(ctx, "nap", stamp())
}

func stamp() time.Duration { return time.Duration(time.Now().Unix()) }
`,
}

// TestVet: the command finds, lists what is allowed, repairs what is plain, and knows what is pure; without anything
// to find it is silent.
func TestVet(t *testing.T) {
	dir := t.TempDir()
	for name, text := range vetted {
		at := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(at), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "pure"), []byte("# ours\ngithub.com/stepwell/stepwell/examples/shop.stamp # it is only shown\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	program := build(t)
	vet := func(args ...string) (out, errs string, code int) {
		var stdout, stderr bytes.Buffer
		cmd := exec.CommandContext(t.Context(), program, args...)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=-mod=mod")
		cmd.Stdout, cmd.Stderr = &stdout, &stderr
		_ = cmd.Run()
		return stdout.String(), stderr.String(), cmd.ProcessState.ExitCode()
	}
	out, errs, code := vet()
	if code != exitFailure || strings.Count(out, "\n") != 3 || !strings.Contains(errs, "3 findings") {
		t.Errorf("got %d\n%s%s", code, out, errs)
	}
	for _, want := range []string{
		"examples/shop/shop.go:12:3: ", "examples/shop/shop.go:15:9: time.Now in workflow code: replay sees another time; use ctx.Now() (time: docs/rules.md#time-and-randomness)",
		"examples/shop/shop.go:15:48: shop.stamp comes to time.Now (shop/shop.go:18), in workflow code",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("got\n%s\nwant in it %q", out, want)
		}
	}
	out, _, code = vet("--json", "--only", "goroutines")
	var f vetFinding
	if err := json.Unmarshal([]byte(out), &f); err != nil || code != exitFailure || f != (vetFinding{
		"examples/shop/shop.go", 12, 3, "goroutines",
		"a go statement in workflow code: the order in which goroutines get to run is nobody's to repeat; use stepwell.Go, All, Race or Map", "docs/rules.md#goroutines",
	}) {
		t.Errorf("got %d, %v\n%s", code, err, out)
	}
	if out, errs, code = vet("--allowed"); code != exitOK || !strings.Contains(out, "shop.go:10:21: allowed: time: it is only shown") || !strings.Contains(errs, "1 allowance") {
		t.Errorf("got %d\n%s%s", code, out, errs)
	}
	if out, _, code = vet("--diff", "./..."); code != exitOK || !strings.Contains(out, "+\treturn ctx.Now(), stepwell.Sleep") {
		t.Errorf("got %d\n%s", code, out)
	}
	if out, errs, code = vet("--fix", "--pure", "pure", "--only", "time", "./..."); code != exitOK || out != "" {
		t.Errorf("got %d\n%s%s", code, out, errs)
	}
	if text, err := os.ReadFile(filepath.Join(dir, "examples/shop/shop.go")); err != nil || !strings.Contains(string(text), "return ctx.Now(), stepwell.Sleep") {
		t.Errorf("got %v\n%s\nwant it repaired", err, text)
	}
	if _, errs, code = vet("--only", "tme"); code != exitUsage || !strings.Contains(errs, `there is no rule "tme"`) {
		t.Errorf("got %d\n%s", code, errs)
	}
	if _, errs, code = vet("--json", "--only", "tme"); code != exitUsage || !strings.HasPrefix(errs, `{"code":"USAGE","error":"vet: there is no rule \"tme\"","next":"the rules are time, `) {
		t.Errorf("got %d\n%s", code, errs)
	}
	if _, errs, code = vet("--fixx"); code != exitUsage || !strings.Contains(errs, "flag provided but not defined: -fixx\n  see stepwellvet --help") {
		t.Errorf("got %d\n%s", code, errs)
	}
	if _, errs, code = vet("./nowhere"); code != exitFailure || !strings.Contains(errs, "nowhere") {
		t.Errorf("got %d\n%s", code, errs)
	}

	// What was recorded is held against the code: the shapes of today fit, those of a type that has changed do not, and
	// a log that is new is read at once.
	order, shaped := filepath.Join(dir, "examples/order/order.go"), filepath.Join(dir, "examples/order/testdata/shapes.json")
	if out, errs, code = vet("--shapes", "./examples/order"); code != exitOK || !strings.Contains(out, "shapes.json: 2 names") {
		t.Errorf("got %d\n%s%s", code, out, errs)
	}
	if text, err := os.ReadFile(shaped); err != nil || !strings.Contains(string(text), `"workflow order v1 input": [{"Cents":"int","ID":"string"}]`) {
		t.Errorf("got %v\n%s", err, text)
	}
	if out, errs, code = vet("./examples/order"); code != exitOK || out != "" {
		t.Errorf("got %d\n%s%s", code, out, errs)
	}
	log := `{"history":1,"run":"a"}
{"seq":1,"type":"run_created","birth":{"workflow":"order","version":1},"payload":{"ID":"7","Cents":3}}
{"seq":2,"type":"wait_created","id":"w","kind":"sleep","name":"nap"}
{"end":2}
`
	if err := os.MkdirAll(filepath.Join(dir, "examples/order/testdata/histories"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "examples/order/testdata/histories/a.jsonl"), []byte(log), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, _, code = vet("./examples/order"); code != exitFailure || !strings.Contains(out, `order.go:15:15: stepwell.Sleep "cool-off", where a run of order version 1 has recorded the sleep "nap" (testdata/histories/a.jsonl, event 2)`) {
		t.Errorf("got %d\n%s", code, out)
	}
	if err := os.WriteFile(order, []byte(strings.Replace(vetted["examples/order/order.go"], "Cents int", "Euros int", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, _, code = vet("--only", "changed", "./examples/order"); code != exitFailure || !strings.Contains(out, "workflow order v1 input no longer goes with what was recorded (testdata/shapes.json): it has no field for Cents any more") {
		t.Errorf("got %d\n%s", code, out)
	}
}

// TestTheSameFlags: stepwell vet has the same flags, and says the same of them.
func TestTheSameFlags(t *testing.T) {
	source, err := os.ReadFile("../../../internal/cli/vet.go")
	if err != nil {
		t.Fatal(err)
	}
	told := map[string]string{}
	for _, m := range regexp.MustCompile(`(?m)^\tf\.(?:Bool|String)\("(\w+)", (?:false|""), "(.*)"\)$`).FindAllStringSubmatch(string(source), -1) {
		told[m[1]] = strings.ReplaceAll(m[2], "`", "")
	}
	if m := regexp.MustCompile(`\tc\.jsonFlag\(cmd, "(.*)"\)`).FindStringSubmatch(string(source)); m != nil {
		told["json"] = m[1]
	}
	got := map[string]string{}
	new(vetting).commandLine().VisitAll(func(f *flag.Flag) { _, got[f.Name] = flag.UnquoteUsage(f) })
	if !maps.Equal(got, told) {
		t.Errorf("the flags are\n%v\nand internal/cli/vet.go has\n%v", got, told)
	}
}

// TestHelp names each rule and each flag; go vet's own questions are answered by the tool.
func TestHelp(t *testing.T) {
	var out, errs bytes.Buffer
	if code := vetAll(t.Context(), []string{"--help"}, &out, &errs); code != exitOK || errs.Len() > 0 {
		t.Errorf("got %d, %s", code, &errs)
	}
	for _, want := range append(ruleNames(), "-fix", "-shapes") {
		if !strings.Contains(out.String(), "  "+want+" ") && !strings.Contains(out.String(), "  "+want+"\n") {
			t.Errorf("help does not name %s:\n%s", want, &out)
		}
	}
	for args, want := range map[string]bool{"-V=full": true, "-flags": true, "-time -golden=a /tmp/b123/vet.cfg": true, "help time": true, "": false, "./...": false, "--fix ./help": false} {
		if got := isTool(strings.Fields(args)); got != want {
			t.Errorf("%q of go vet: got %v", args, got)
		}
	}
}

// build returns the path of the program.
func build(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "stepwellvet.exe")
	if out, err := exec.Command("go", "build", "-o", path, ".").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	return path
}

// TestVetLine: what go vet says of a file that was generated is a finding too, at the line that it was generated from.
func TestVetLine(t *testing.T) {
	const see = " (time: docs/rules.md#time-and-randomness)"
	for line, want := range map[string]string{
		"orders/ship.go:31:5: time.Now in workflow code" + see:            "orders/ship.go|31|5|time.Now in workflow code|time",
		"vet: shop/x.tmpl:3: stamp.ID comes to x (a/b.go:12)" + see:       "shop/x.tmpl|3||stamp.ID comes to x (a/b.go:12)|time",
		`C:\shop\ship.go:7:1: time.Now in workflow code: use x:1:2` + see: `C:\shop\ship.go|7|1|time.Now in workflow code: use x:1:2|time`,
		"shop/ship.go:7:1: undefined: x":                                  "shop/ship.go|7|1|undefined: x|",
	} {
		m := vetLine.FindStringSubmatch(line)
		if m == nil || strings.Join(m[1:6], "|") != want {
			t.Errorf("%q is read as %q, want %q", line, m, want)
		}
	}
}
