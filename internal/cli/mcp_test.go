package cli

// What assistants need of the commands: pages, counts that are expected, and through what somebody acts. What they are
// shown is tested in cmd/stepwell-mcp.

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// TestPages: pages of runs and of events are, together, all of them, each once.
func TestPages(t *testing.T) {
	path := fixture(t)
	do := func(args string) string {
		t.Helper()
		code, out, errs := call{}.do(context.Background(), append(strings.Fields(args), "--db", path)...)
		if code != exitOK {
			t.Fatalf("%s: exit code %d, %s", args, code, errs)
		}
		return out
	}
	ids := func(out string, of func(dec *json.Decoder) []string) (all []string) {
		for dec := json.NewDecoder(strings.NewReader(out)); dec.More(); {
			all = append(all, of(dec)...)
		}
		return all
	}
	decode := func(dec *json.Decoder, into any) {
		if err := dec.Decode(into); err != nil {
			t.Fatal(err)
		}
	}
	want := ids(do("runs list --json --limit 1000"), func(dec *json.Decoder) []string {
		var r struct{ ID string }
		decode(dec, &r)
		return []string{r.ID}
	})
	var got []string
	for cursor, first := "", true; first || cursor != ""; first = false {
		args := "runs list --json --page --limit 3"
		if cursor != "" {
			args += " --cursor " + cursor
		}
		got = append(got, ids(do(args), func(dec *json.Decoder) (some []string) {
			var page struct {
				Runs   []struct{ ID string }
				Cursor string
			}
			decode(dec, &page)
			cursor = page.Cursor
			for _, r := range page.Runs {
				some = append(some, r.ID)
			}
			return some
		})...)
	}
	if fmt.Sprint(got) != fmt.Sprint(want) || len(want) < 10 {
		t.Errorf("page by page: got\n%v\nwant\n%v", got, want)
	}
	if out := do("runs list --json --page --workflow none"); out != `{"runs":[]}`+"\n" {
		t.Errorf("a page of none: %q", out)
	}

	seqs := func(args string) []string {
		return ids(do("events "+waitingRun+" --json "+args), func(dec *json.Decoder) []string {
			var e struct {
				Seq     int
				EventID string
			}
			decode(dec, &e)
			return []string{fmt.Sprint(e.Seq), e.EventID}
		})
	}
	all := seqs("")
	for limit := 1; limit*2 <= len(all)+2; limit++ {
		var got []string
		for after := "0"; ; {
			some := seqs(fmt.Sprintf("--limit %d --after %s", limit, after))
			got = append(got, some...)
			if len(some) < 2*limit {
				break
			}
			after = some[len(some)-1-limit%2] // its ID, or its number
		}
		if fmt.Sprint(got) != fmt.Sprint(all) {
			t.Errorf("with --limit %d: got %v, want %v", limit, got, all)
		}
	}
	for args, says := range map[string]string{
		"runs list --page":                        "--page needs --json",
		"events " + waitingRun + " --limit -1":    "--limit -1",
		"events " + waitingRun + " --after later": "want its number, or its ID",
	} {
		code, _, errs := call{}.do(context.Background(), append(strings.Fields(args), "--db", path)...)
		if code != exitUsage || !strings.Contains(errs, says) {
			t.Errorf("%s: exit code %d, %q, want %q", args, code, errs, says)
		}
	}
}

func TestThroughWhat(t *testing.T) {
	for what, want := range map[string]string{"": "ada@laptop", "mcp claude 2": "ada@laptop through mcp claude 2", "a\nb": "ada@laptop through a b"} {
		if got := through("ada@laptop", what); got != want {
			t.Errorf("through %q: got %q, want %q", what, got, want)
		}
	}
	if got := through("a", strings.Repeat("x", 1000)); len(got) > 120 {
		t.Errorf("it is not cut: %d bytes", len(got))
	}
}

// TestMCPFindsItsProgram: it lies beside this one, or where the shell looks; where it does not, that is said.
func TestMCPFindsItsProgram(t *testing.T) {
	name := mcpProgram
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	here, there := t.TempDir(), t.TempDir()
	put := func(dir string) string {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte("#!/bin/sh\nexit 3\n"), 0o700); err != nil {
			t.Fatal(err)
		}
		return path
	}
	t.Setenv("PATH", there)
	self := filepath.Join(here, "stepwell")
	if _, err := beside(self, mcpProgram); err == nil || !strings.Contains(err.Error(), "no program stepwell-mcp") {
		t.Errorf("it is nowhere: got %v", err)
	}
	code, _, errs := call{}.do(context.Background(), "mcp", "--db", "x.db")
	if code != exitFailure || !strings.Contains(errs, "go -C cmd/stepwell-mcp install .") {
		t.Errorf("it is nowhere: exit code %d, %s", code, errs)
	}
	want := put(there)
	if got, err := beside(self, mcpProgram); err != nil || got != want {
		t.Errorf("it is in PATH: got %s, %v, want %s", got, err, want)
	}
	want = put(here)
	if got, err := beside(self, mcpProgram); err != nil || got != want {
		t.Errorf("it is beside: got %s, %v, want %s", got, err, want)
	}
	if code, _, errs := (call{}).do(context.Background(), "mcp", "--db", "x.db", "--http="); code != exitUsage || !strings.Contains(errs, "--http is empty") {
		t.Errorf("--http=: exit code %d, %s", code, errs)
	}
}
