package server

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stepwell/stepwell/internal/logs"
	"github.com/stepwell/stepwell/server/site"
	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/remote/wire"
)

// TestProblemsPage: docs/server.md has each code that a request may be refused with, with its status, and
// docs/protocol.md each that a worker is told.
func TestProblemsPage(t *testing.T) {
	t.Parallel()
	told := slices.DeleteFunc(world.Codes(), func(c world.Coded) bool { return wire.Sentinel(c.Code) == nil })
	for page, codes := range map[string][]world.Coded{"server.md": problems, "protocol.md": told} {
		text, err := os.ReadFile(filepath.Join("..", "docs", page))
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(string(text), "\n")
		for _, p := range codes {
			if !slices.ContainsFunc(lines, func(line string) bool {
				return strings.Contains(line, "`"+p.Code+"`") && strings.Contains(line, fmt.Sprint(p.Status))
			}) {
				t.Errorf("docs/%s has no line with %s and %d", page, p.Code, p.Status)
			}
		}
	}
}

// TestProblemsHelp: each problem says where this server explains its code, and the page has it there; a server without
// the documentation says nothing.
func TestProblemsHelp(t *testing.T) {
	t.Parallel()
	with, without := auditor{log: slog.New(slog.DiscardHandler), docs: true}, auditor{log: slog.New(slog.DiscardHandler)}
	with.says, without.says = logs.NewSeldom(with.log), logs.NewSeldom(without.log)
	keyless := &entry{opts: &Options{}}
	with.entry, without.entry = keyless, keyless
	r := httptest.NewRequest(http.MethodGet, "/v1/runs", nil)
	seen := map[string]bool{}
	for _, known := range append(slices.Clone(problems), world.Coded{Err: errors.New("a fault"), Code: "INTERNAL"}) {
		p, bare := with.problem(r, known.Err), without.problem(r, known.Err)
		if p.Type != "urn:stepwell:problem:"+known.Code || bare.Type != p.Type || bare.Help != "" {
			t.Errorf("%v: got %+v, and without the documentation %+v", known.Err, p, bare)
		}
		if seen[p.Help] {
			continue
		}
		seen[p.Help] = true
		page, name, ok := strings.Cut(p.Help, "#")
		w := httptest.NewRecorder()
		site.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, page, nil))
		if !ok || w.Code != http.StatusOK || strings.Count(w.Body.String(), `<code id="`+name+`">`+known.Code+`</code>`) != 1 {
			t.Errorf("%s: help is %q, which answers %d and does not have it once", known.Code, p.Help, w.Code)
		}
	}
	if refused := (&Problem{Type: "urn:stepwell:problem:TooEarlyError", Code: "TooEarlyError"}); with.problem(r, refused).Help != "" {
		t.Error("a code of Workflow DevKit has help: no page has it")
	}
}

// TestHelpOverTheWire asks a server for what is not there, and follows the help that it gives.
func TestHelpOverTheWire(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		opts Options
		help string
	}{{Options{}, "/docs/server.html#NOT_FOUND"}, {Options{NoUI: true}, ""}} {
		rig := newRig(t, "memory", test.opts)
		res, err := http.Get(rig.base + "/v1/runs/wrun_none")
		if err != nil {
			t.Fatal(err)
		}
		var p Problem
		err = json.NewDecoder(res.Body).Decode(&p)
		res.Body.Close()
		if err != nil || p.Code != "NOT_FOUND" || p.Help != test.help {
			t.Errorf("got %+v, %v, want help %q", p, err, test.help)
		}
	}
}
