package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
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
`,
	"examples/shop/shop.go": `package shop

import (
	"os"
	"time"

	"github.com/stepwell/stepwell"
)

func flow(ctx stepwell.Context, n int) (time.Time, error) {
	seen := time.Now() //stepwell:allow time it is only shown
	if os.Getenv("FREE") != "" {
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
	t.Chdir(dir)
	t.Setenv("GOFLAGS", "-mod=mod")
	vet := func(args ...string) (out, errs string, code int) {
		var stdout, stderr bytes.Buffer
		sh := process()
		sh.stdout, sh.stderr = &stdout, &stderr
		code = run(t.Context(), append([]string{"vet"}, args...), sh)
		return stdout.String(), stderr.String(), code
	}
	out, errs, code := vet()
	if code != exitFailure || strings.Count(out, "\n") != 3 || !strings.Contains(errs, "3 findings") {
		t.Errorf("got %d\n%s%s", code, out, errs)
	}
	for _, want := range []string{
		"examples/shop/shop.go:12:5: os.Getenv in workflow code", "examples/shop/shop.go:15:9: time.Now in workflow code: replay sees another time; use ctx.Now() (time: docs/rules.md#time-and-randomness)",
		"examples/shop/shop.go:15:48: shop.stamp comes to time.Now (shop/shop.go:18), in workflow code",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("got\n%s\nwant in it %q", out, want)
		}
	}
	out, _, code = vet("--json", "--only", "environment")
	var f vetFinding
	if err := json.Unmarshal([]byte(out), &f); err != nil || code != exitFailure || f != (vetFinding{
		"examples/shop/shop.go", 12, 5, "environment", "os.Getenv in workflow code: it may differ where the run goes on; read it in a step, or before the App starts", "docs/rules.md#globals-and-io",
	}) {
		t.Errorf("got %d, %v\n%s", code, err, out)
	}
	if out, errs, code = vet("--allowed"); code != exitOK || !strings.Contains(out, "shop.go:11:21: allowed: time: it is only shown") || !strings.Contains(errs, "1 allowance") {
		t.Errorf("got %d\n%s%s", code, out, errs)
	}
	if out, _, code = vet("--diff", "./..."); code != exitOK || !strings.Contains(out, "+\treturn ctx.Now(), stepwell.Sleep") {
		t.Errorf("got %d\n%s", code, out)
	}
	if out, errs, code = vet("--fix", "--pure", "pure", "--only", "time", "./..."); code != exitOK || out != "" {
		t.Errorf("got %d\n%s%s", code, out, errs)
	}
	if text, err := os.ReadFile("examples/shop/shop.go"); err != nil || !strings.Contains(string(text), "return ctx.Now(), stepwell.Sleep") {
		t.Errorf("got %v\n%s\nwant it repaired", err, text)
	}
	if _, errs, code = vet("--only", "tme"); code != exitUsage || !strings.Contains(errs, `there is no rule "tme"`) {
		t.Errorf("got %d\n%s", code, errs)
	}
	if _, errs, code = vet("./nowhere"); code != exitFailure || !strings.Contains(errs, "nowhere") {
		t.Errorf("got %d\n%s", code, errs)
	}
}
