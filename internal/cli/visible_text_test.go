package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/internal/draw"
	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/journal"
)

// hostile is what a terminal would obey: a title, colours, C1, and a change of direction.
const hostile = "\x1b]0;owned\x07\x1b[31m\u009b2J\u202e\u2066gnp.exe\u200f"

// steers reports whether a text has something that a terminal obeys.
func steers(text string) bool {
	return strings.ContainsFunc(text, func(r rune) bool { return r != '\n' && (r < ' ' || unseen(r)) })
}

// TestHostileServer: what a server says, in whatever place, reaches the terminal as text, and JSON as the same value.
func TestHostileServer(t *testing.T) {
	detail, err := json.Marshal(map[string]any{"type": "x", "title": hostile, "status": 403, "code": "FORBIDDEN", "detail": hostile, "healthy": false})
	if err != nil {
		t.Fatal(err)
	}
	for _, status := range []int{403, 400, 404, 500, 200} {
		t.Run(fmt.Sprint(status), func(t *testing.T) {
			t.Parallel()
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/problem+json")
				w.WriteHeader(status)
				_, _ = w.Write(bytes.ReplaceAll(detail, []byte("403"), []byte("400")))
			}))
			t.Cleanup(s.Close)
			for _, args := range [][]string{
				{"health", s.URL}, {"health", s.URL, "--json"}, {"workers", "--server", s.URL}, {"workers", "--server", s.URL, "--json"},
				{"hooks", "list", "--server", s.URL}, {"export", "--server", s.URL, "wrun_1"},
			} {
				t.Run(strings.ReplaceAll(strings.Join(args, " "), s.URL, "URL"), func(t *testing.T) {
					t.Parallel() // a server's failure is waited out for a while, by each of them
					var out, errs bytes.Buffer
					sh := process()
					sh.stdout, sh.stderr, sh.getenv = &out, &errs, func(string) string { return "" }
					if code := run(t.Context(), args, sh); code == exitOK {
						t.Error("exit 0")
					}
					if steers(out.String()) || steers(errs.String()) {
						t.Errorf("the terminal is steered by %q %q", out.String(), errs.String())
					}
				})
			}
		})
	}
}

func TestVisibleJSON(t *testing.T) {
	var b bytes.Buffer
	in := hostile + "\U000e0001é語🙂\u2028\ufeff\x7f"
	if err := json.NewEncoder(visibleJSON{&b}).Encode(in); err != nil {
		t.Fatal(err)
	}
	var back string
	if err := json.Unmarshal(b.Bytes(), &back); err != nil || back != in || steers(b.String()) || !strings.Contains(b.String(), "é語🙂") {
		t.Errorf("got %q, which is %q, %v", b.String(), back, err)
	}
	b.Reset()
	if report(&b, t.Context(), errors.New("no\n  "+hostile), false); steers(b.String()) {
		t.Errorf("the terminal is steered by %q", b.String())
	}
}

// TestHostileRows: what a server says of runs, hooks, workflows and events reaches the terminal as text, whichever command shows it.
func TestHostileRows(t *testing.T) {
	for _, terminal := range []bool{false, true} {
		var out bytes.Buffer
		sh := process()
		sh.stdout, sh.stderr, sh.getenv, sh.terminal = &out, &out, func(string) string { return "1" }, terminal // without colours
		c := newCLI(sh)
		run := stepwell.RunInfo{ID: hostile, Workflow: hostile, Status: world.Status(hostile)}
		writeRuns(c.output, []listed{{RunInfo: run}}, time.Now())
		writeHooks(c.output, []hookLine{{HookRow: world.HookRow{Token: hostile, Run: hostile, Encrypted: hostile}}, {URL: hostile}})
		p := &eventPrinter{output: c.output, names: map[string]string{}}
		for _, e := range []world.Event{
			{ID: hostile, Type: world.EventType(hostile), Peer: hostile, Outcome: world.Outcome(hostile), Encrypted: hostile, Error: &world.Error{Message: hostile, Where: hostile}},
			{Type: world.RunCreated, Kind: world.Kind(hostile), Birth: &world.Birth{Workflow: hostile, Origin: &world.Origin{Run: hostile}}},
		} {
			if err := p.print(&e); err != nil {
				t.Fatal(err)
			}
		}
		if err := c.tell(nil, hostile); err != nil {
			t.Fatal(err)
		}
		pic := &picture{draw.Run{Story: &stepwell.Story{Run: run, Journal: &journal.Journal{}}, Style: c.style()}}
		pic.draw(&out)
		if n := strings.Count(out.String(), "owned"); n < 15 || steers(out.String()) {
			t.Errorf("terminal %t: %d texts, the terminal is steered by %q", terminal, n, out.String())
		}
		out.Reset()
		if got := (style{Colours: true}).Paint(bad, hostile); steers(strings.TrimSuffix(strings.TrimPrefix(got, "\x1b[31m"), "\x1b[0m")) {
			t.Errorf("painted: %q", got)
		}
	}
}

// TestVisibleBytes: what is no UTF-8 is not passed on: a single byte may be C1.
func TestVisibleBytes(t *testing.T) {
	var b bytes.Buffer
	if _, err := (visibleJSON{&b}).Write([]byte("\"\x9b2J\"")); err != nil || b.String() != "\"\ufffd2J\"" {
		t.Errorf("got %q, %v", b.String(), err)
	}
}
