package world

// Tests of IDs: they are the same for ever, differ wherever anything differs, and sort.

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// TestIDsAreForEver pins values: where this test fails, every run in every database loses its steps. Never change the values.
func TestIDsAreForEver(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 678_000_000, time.UTC)
	k := Key{Segment: 1, Path: "fetch[17]/go[0]", Kind: KindClosure, Name: "poll", Occurrence: 2}
	for name, test := range map[string]struct{ got, want string }{
		"step":      {CorrelationID("wrun_1", at, k), "step_01KDYAK3SE1XRQYA15KXQFYAY5"},
		"first":     {CorrelationID("wrun_1", at, Key{Kind: KindTask, Name: "charge"}), "step_01KDYAK3SEPXY6FQZDE84Z7BF7"},
		"wait":      {CorrelationID("wrun_1", at, Key{Kind: KindSleep, Name: "night"}), "wait_01KDYAK3SECZF14GBM2V6JZBTP"},
		"hook":      {CorrelationID("wrun_1", at, Key{Kind: KindHook, Name: "hook"}), "hook_01KDYAK3SEY15AMG5TE32STMB1"},
		"attribute": {CorrelationID("wrun_1", at, Key{Kind: KindAttr, Name: "k"}), "attr_01KDYAK3SEPEX9BTF96XGEKTRQ"},
		"event":     {EventID("wrun_1", 77, at), "evnt_01KDYAK3SEJ4Y8S4R00000002D"},
		"path":      {RunPath(RunPath("", "fetch", 17), "go", 0), "fetch[17]/go[0]"},
	} {
		if test.got != test.want {
			t.Errorf("%s: got %s, want %s", name, test.got, test.want)
		}
	}
}

func TestCorrelationIDPrefixes(t *testing.T) {
	for kind, want := range map[Kind]string{
		KindClosure: "step_", KindTask: "step_", KindChild: "step_", KindAwait: "step_", KindPatch: "step_",
		KindSleep: "wait_", KindEvent: "wait_", KindCondition: "wait_", KindHook: "hook_", KindAttr: "attr_",
	} {
		id := CorrelationID("r", t0, Key{Kind: kind, Name: "n"})
		if !strings.HasPrefix(id, want) || len(id) != len(want)+26 {
			t.Errorf("%s: got %s, want %s and a ULID", kind, id, want)
		}
	}
}

// TestCorrelationIDFields: each field counts, also where two neighbours together read the same.
func TestCorrelationIDFields(t *testing.T) {
	keys := []Key{
		{}, {Segment: 1}, {Occurrence: 1}, {Segment: 128}, {Path: "a"}, {Kind: KindTask}, {Kind: KindClosure}, {Name: "a"}, {Name: "a", Occurrence: 1},
		{Path: "ab", Name: "c"}, {Path: "a", Name: "bc"}, {Path: "abc"}, {Name: "abc"}, {Name: "a", Occurrence: 97}, {Name: "aa"},
	}
	seen := make(map[string]Key)
	for _, k := range keys {
		id := CorrelationID("r", t0, k)
		if other, ok := seen[id]; ok {
			t.Errorf("%+v and %+v share %s", k, other, id)
		}
		seen[id] = k
	}
	k := Key{Kind: KindTask, Name: "n"}
	id := CorrelationID("r", t0, k)
	if CorrelationID("r2", t0, k) == id || CorrelationID("r", t0.Add(time.Second), k) == id {
		t.Error("the run or its birth does not count")
	}
	if got := CorrelationID("r", t0, k); got != id {
		t.Errorf("second time: got %s, want %s", got, id)
	}
	if got := CorrelationID("r", t0.In(time.FixedZone("x", 3600)), k); got != id {
		t.Errorf("in another time zone: got %s, want %s", got, id)
	}
}

func TestEventIDsSort(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var ids []string
		at := t0
		seq := rapid.Int64Range(1, 1<<47).Draw(t, "seq")
		for range rapid.IntRange(2, 20).Draw(t, "n") {
			ids = append(ids, EventID("r", seq, at))
			seq += rapid.Int64Range(1, 1000).Draw(t, "gap")
			at = at.Add(time.Duration(rapid.IntRange(0, 3000).Draw(t, "us")) * time.Microsecond)
		}
		if !slices.IsSorted(ids) || len(slices.Compact(slices.Clone(ids))) != len(ids) {
			t.Fatalf("got %q, want them in order and different", ids)
		}
	})
}

// TestRunPathUnique: no two places in the tree of coroutines share a path, whatever their names are.
func TestRunPathUnique(t *testing.T) {
	if a, b := RunPath("", "a[0]/b", 0), RunPath(RunPath("", "a", 0), "b", 0); a == b {
		t.Errorf("got %s twice", a)
	}
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.StringOfN(rapid.SampledFrom([]rune(`a/\[]0`)), 1, 6, -1)
		draw := func(label string) (path string, places []any) {
			for range rapid.IntRange(1, 3).Draw(t, label+" depth") {
				s, n := name.Draw(t, label), rapid.IntRange(0, 1).Draw(t, label+" n")
				path, places = RunPath(path, s, n), append(places, s, n)
			}
			return path, places
		}
		p1, places1 := draw("first")
		p2, places2 := draw("second")
		if (p1 == p2) != slices.Equal(places1, places2) {
			t.Fatalf("%q is %q, %q is %q", places1, p1, places2, p2)
		}
	})
}

func TestNewID(t *testing.T) {
	a, b := NewID(PrefixRun, t0), NewID(PrefixRun, t0)
	if a == b || !strings.HasPrefix(a, "wrun_") || a[:15] != b[:15] || a[:15] != NewID(PrefixRun, t0.Add(time.Microsecond))[:15] {
		t.Errorf("got %s and %s, want the same time and another random part", a, b)
	}
	if c := NewID(PrefixRun, t0.Add(time.Millisecond)); c <= a[:15] || c[:15] == a[:15] {
		t.Errorf("got %s after %s, want a later time part", c, a)
	}
	if got, want := NewID(PrefixRun, time.Time{})[:15], "wrun_0000000000"; got != want {
		t.Errorf("before 1970: got %s, want %s", got, want)
	}
	if err := CheckRunID(a); err != nil {
		t.Errorf("%s: %v", a, err)
	}
}

func TestKeyString(t *testing.T) {
	for want, k := range map[string]Key{
		"poll":                 {Name: "poll"},
		"poll[2]":              {Name: "poll", Occurrence: 2},
		"poll[2] in fetch[17]": {Name: "poll", Occurrence: 2, Path: "fetch[17]"},
	} {
		if got := k.String(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestNow(t *testing.T) {
	if n := Now(); n.Location() != time.UTC || n.Nanosecond()%1000 != 0 {
		t.Errorf("got %v, want UTC in microseconds", n)
	}
}

func BenchmarkCorrelationID(b *testing.B) {
	k := Key{Kind: KindClosure, Name: "charge the card", Path: "fetch[17]"}
	b.ReportAllocs()
	for b.Loop() {
		_ = CorrelationID("wrun_01ARZ3NDEKTSV4RRFFQ69G5FAV", t0, k)
	}
}

// TestParseEvent: an event is named by its number or its ID; that of another run's names none.
func TestParseEvent(t *testing.T) {
	at := time.Date(2026, 5, 1, 0, 0, 0, 0, time.UTC)
	for _, seq := range []int64{1, 77, 1 << 40} {
		for _, text := range []string{strconv.FormatInt(seq, 10), EventID("r", seq, at), NameEvents("r", []Event{{Seq: seq, Time: at}})[0].EventID} {
			if n, err := ParseEvent("r", text); n != seq || err != nil {
				t.Errorf("%s: got %d, %v, want %d", text, n, err, seq)
			}
		}
	}
	for _, text := range []string{"", "-1", "e7", "evnt_", "evnt_x", EventID("s", 7, at), "step" + EventID("r", 7, at)[4:], EventID("r", 0, at)} {
		if n, err := ParseEvent("r", text); !errors.Is(err, ErrInvalid) {
			t.Errorf("%q: got %d, %v, want ErrInvalid", text, n, err)
		}
	}
}
