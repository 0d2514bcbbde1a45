package compare

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stepwell/stepwell/bench/engine"
	"github.com/stepwell/stepwell/bench/engines/dbos"
	"github.com/stepwell/stepwell/bench/engines/stepwell"
	"github.com/stepwell/stepwell/bench/measure"
)

var makers = []*engine.Maker{&stepwell.Maker, &dbos.Maker}

// TestMain lets the test binary be the bench's own children.
func TestMain(m *testing.M) {
	if Child() {
		os.Exit(Main(context.Background(), os.Args[1:], os.Stdout, os.Stderr, makers))
	}
	os.Exit(m.Run())
}

// TestQuick runs the program with tiny sizes, without a server: every line has its figures, counters included, and the table compares them.
func TestQuick(t *testing.T) {
	data := t.TempDir()
	var out, progress bytes.Buffer
	args := []string{"-quick", "-json", "-stores", "sqlite,disk", "-time", "50ms", "-scale", "0.01", "-clients", "2", "-rounds", "1", "-dir", t.TempDir(), "-write", data,
		"-work", "append,serial10,latency,long,fanout,start,sleepers,children,mixed,replay*,takeover"}
	if code := Main(t.Context(), args, &out, &progress, makers); code != 0 {
		t.Fatalf("exit %d\n%s", code, &progress)
	}
	in := json.NewDecoder(&out)
	var a about
	if err := in.Decode(&a); err != nil || a.Engines["dbos"] == "" || a.Settings["stepwell"] == "" {
		t.Fatalf("the first line is %+v, %v: want versions and settings", a, err)
	}
	seen := map[string]bool{}
	for in.More() {
		var r measure.Result
		if err := in.Decode(&r); err != nil {
			t.Fatal(err)
		}
		name := r.Engine + " " + r.Work
		seen[name] = true
		switch {
		case r.Engine == "dbos" && (strings.HasPrefix(r.Work, "replay") || r.Work == "takeover"):
			if r.Note != "not offered" {
				t.Errorf("%s: got note %q, want that it is not offered", name, r.Note)
			}
			continue
		case r.Note != "":
			t.Errorf("%s: %s\n%s", name, r.Note, &progress)
		}
		if of, _, _ := figure(r.Work); of(&r) <= 0 {
			t.Errorf("%s: got no figure: %+v", name, r)
		}
	}
	for _, name := range []string{"floor append", "stepwell serial10", "dbos serial10", "stepwell long", "dbos sleepers", "stepwell replay-cold", "stepwell takeover"} {
		if !seen[name] {
			t.Errorf("%s was not measured: %v", name, seen)
		}
	}
	for name, wants := range map[string][]string{
		"performance.tsv":          {strings.Join(head, "\t") + "\n", "\nserial10\tsqlite\tdbos\t", "% of append"},
		"performance-settings.tsv": {"what\thow\n", "\nstepwell ", "\nnot offered, or not measured\treplay"},
	} {
		text, err := os.ReadFile(filepath.Join(data, name))
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range wants {
			if !strings.Contains(string(text), want) {
				t.Errorf("%s has no %q:\n%s", name, want, text)
			}
		}
		width := strings.Count(wants[0], "\t")
		for line := range strings.Lines(string(text)) {
			if strings.Count(line, "\t") != width {
				t.Errorf("%s: a row has another number of cells: %s", name, line)
			}
		}
	}
}

// TestCounters: commits are counted exactly, from outside: 11 for a run of 10 steps that nobody else disturbs.
func TestCounters(t *testing.T) {
	m := &measurer{options: &options{dir: t.TempDir(), time: 50e6, limit: 60e9}, makers: makers, progress: new(bytes.Buffer), absent: map[row]bool{}}
	p := m.points("latency")
	if len(p) != 1 {
		t.Fatalf("got points %v, want one", p)
	}
	r := m.one(t.Context(), job{"stepwell", engine.SQLite, p[0]})
	if r.Note != "" {
		t.Fatalf("%s\n%s", r.Note, m.progress)
	}
	// A heartbeat a second is a commit too.
	if got := r.CommitsPerStep * 10; got < 11 || got > 11.5 {
		t.Errorf("got %.2f commits for a run of 10 steps, want 11", got)
	}
	if r.RSS == 0 || r.BytesWrittenPerStep == 0 {
		t.Errorf("got no memory or no bytes: %+v", r)
	}
}

func TestTurned(t *testing.T) {
	o := &options{engines: []string{"stepwell", "dbos"}, stores: []string{"sqlite"}, work: []string{"latency", "mixed"}, time: 1, scale: 1, clients: []int{1}}
	jobs, err := o.plan(makers)
	if err != nil {
		t.Fatal(err)
	}
	for round, want := range []string{"stepwell dbos stepwell dbos", "dbos stepwell dbos stepwell", "stepwell dbos stepwell dbos"} {
		var got []string
		for _, j := range turned(jobs, round) {
			got = append(got, j.engine)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("round %d: got %v, want %s", round, got, want)
		}
	}
	if _, err := (&options{engines: []string{"nobody"}}).plan(makers); err == nil || !strings.Contains(err.Error(), "there are floor, stepwell, dbos") {
		t.Errorf("an unknown engine: got %v, want what there is", err)
	}
}

func TestMedian(t *testing.T) {
	of, _, _ := figure("latency")
	all := []measure.Result{{P50: 3}, {P50: 1}, {Note: "failed"}, {P50: 2}}
	if got := median(all, of); got.P50 != 2 || got.Spread != "1–3 (1 of 4 rounds failed)" {
		t.Errorf("got %v, %q, want the one in the middle and the spread", got.P50, got.Spread)
	}
	for x, want := range map[float64]string{0: "", 0.12345: "0.123", 12.345: "12.3", 123.45: "123", 1234.5: "1,234", 1234567: "1,234,567", -15.64: "-15.6"} {
		if got := number(x); got != want {
			t.Errorf("number(%v) = %q, want %q", x, got, want)
		}
	}
}
