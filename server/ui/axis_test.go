package ui

// Axes: whatever happened stands in its order, and where it stands says when it was.

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/stepwell/stepwell/world/journal"
)

func TestAxisKeepsOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		from := time.Date(2026, 11, 22, 7, 0, 0, 0, time.UTC)
		at := from
		var entries []*journal.Entry
		for range rapid.IntRange(1, 20).Draw(t, "entries") {
			at = at.Add(time.Duration(rapid.Int64Range(0, int64(48*time.Hour)).Draw(t, "gap")))
			en := &journal.Entry{CreatedAt: at}
			if rapid.Bool().Draw(t, "over") {
				en.CompletedAt = at.Add(time.Duration(rapid.Int64Range(0, int64(time.Hour)).Draw(t, "took")))
			}
			entries = append(entries, en)
		}
		to := at.Add(2 * time.Hour)
		a := axis{points: []time.Time{from, to}, places: []float64{0, 100}}
		if rapid.Bool().Draw(t, "short") {
			a.shorten(entries)
		}
		before := 0.0
		for _, en := range entries {
			p := a.place(en.CreatedAt)
			if p < before || p > 100 {
				t.Fatalf("%s stands at %v, behind %v", en.CreatedAt, p, before)
			}
			before = p
		}
		if got := []float64{a.place(from), a.place(to), a.place(from.Add(-time.Hour)), a.place(to.Add(time.Hour))}; got[0] != 0 || got[1] < 99.999 || got[2] != 0 || got[3] != 100 {
			t.Errorf("the ends stand at %v", got)
		}
		for p := 0.0; p <= 100; p += 12.5 {
			at := a.at(p) // to the nanosecond: a place between two of them is at neither
			if before, behind := a.place(at.Add(-1)), a.place(at.Add(1)); before > p+1e-9 || behind < p-1e-9 {
				t.Errorf("at %v is %s, but a nanosecond before it is %v, and one behind it %v", p, at, before, behind)
			}
		}
	})
}

func TestPayloads(t *testing.T) {
	deep := ""
	for range 3000 {
		deep += "["
	}
	for _, c := range []struct {
		name, in string
		most     int
		text     string
		cut      bool
	}{
		{name: "JSON is broken into lines", in: `{"a":[1,2]}`, most: 100, text: "{\n  \"a\": [\n    1,\n    2\n  ]\n}"},
		{name: "what is no JSON is as it is", in: `{"a":`, most: 100, text: `{"a":`},
		{name: "signs in a text are no structure", in: `"a,[{\"b"`, most: 100, text: `"a,[{\"b"`},
		{name: "long text is cut between characters", in: `"äöü"`, most: 4, text: `"ä`, cut: true},
		{name: "what turns the writing is written out", in: "\"\u202eab\"", most: 100, text: `"\u202eab"`},
		{name: "deep JSON is not broken", in: deep, most: 4096, text: deep},
	} {
		p := payloadOf([]byte(c.in), c.most, "/more")
		if p.Text != c.text || p.Cut != c.cut || (p.More != "") != c.cut {
			t.Errorf("%s: got %q, cut %v, more %q; want %q, %v", c.name, p.Text, p.Cut, p.More, c.text, c.cut)
		}
	}
	if p := payloadOf(nil, 100, ""); p != nil {
		t.Errorf("no payload: got %+v", p)
	}
}
