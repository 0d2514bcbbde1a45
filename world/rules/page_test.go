package rules_test

import (
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/rules"
)

func TestLimits(t *testing.T) {
	for _, test := range []struct{ asked, runs, events int }{
		{-1, 100, 1000}, {0, 100, 1000}, {1, 1, 1}, {1000, 1000, 1000}, {1001, 1000, 1000}, {math.MaxInt, 1000, 1000},
	} {
		if runs, events := rules.ListLimit(test.asked), rules.EventLimit(test.asked); runs != test.runs || events != test.events {
			t.Errorf("%d: got %d runs and %d events, want %d and %d", test.asked, runs, events, test.runs, test.events)
		}
	}
}

func TestRunCursor(t *testing.T) {
	for _, key := range []int64{1, 7, math.MaxInt64} {
		if got, err := rules.ParseRunCursor(rules.RunCursor(key)); err != nil || got != key {
			t.Errorf("%d: got %d, %v", key, got, err)
		}
	}
	if got, err := rules.ParseRunCursor(""); err != nil || got != math.MaxInt64 {
		t.Errorf("the start: got %d, %v", got, err)
	}
	for _, c := range []string{"r", "r0", "r-1", "7", "r07", "r+7", "rr7", "e7", "r7 ", "r9223372036854775808"} {
		if got, err := rules.ParseRunCursor(c); !errors.Is(err, world.ErrInvalid) {
			t.Errorf("%q: got %d, %v, want it refused", c, got, err)
		}
	}
}

func TestRunPage(t *testing.T) {
	p := rules.RunPage{Query: &world.RunQuery{Limit: 2, Input: []json.RawMessage{[]byte(`{"a":1}`)}}}
	for i := 0; !p.Full(); i++ {
		if err := p.Add(&world.Run{Input: []byte(`{"a":` + string(rune('0'+i%4)) + `}`)}); err != nil {
			t.Fatal(err)
		}
	}
	if len(p.Runs) != 2 || p.Looked != 6 {
		t.Errorf("got %d of %d, want 2 of 6", len(p.Runs), p.Looked)
	}
	p = rules.RunPage{Query: &world.RunQuery{Input: []json.RawMessage{[]byte(`{"a":1}`)}}}
	for !p.Full() {
		if err := p.Add(&world.Run{Input: []byte(`{}`)}); err != nil {
			t.Fatal(err)
		}
	}
	if len(p.Runs) != 0 || p.Looked != rules.MostListed {
		t.Errorf("got %d of %d, want none of %d", len(p.Runs), p.Looked, rules.MostListed)
	}
	p = rules.RunPage{Query: &world.RunQuery{Limit: 100}}
	for large := []byte(`"` + strings.Repeat("x", world.PageBytes/4) + `"`); !p.Full(); {
		if err := p.Add(&world.Run{Input: large}); err != nil {
			t.Fatal(err)
		}
	}
	if len(p.Runs) != 4 {
		t.Errorf("got %d runs of a quarter of a page's bytes each, want 4", len(p.Runs))
	}
}

// TestEventPage reads a log whose commits have two events each.
func TestEventPage(t *testing.T) {
	for name, test := range map[string]struct {
		query         world.EventQuery
		from, trimmed int64
		rows          [][2]int64 // number, count of events
		missing       int64      // events that a row lacks
		want          int
		more, corrupt bool
		at            int64 // of From, at the end
	}{
		"all":                         {rows: [][2]int64{{1, 2}, {3, 2}}, want: 4, at: 4},
		"whole commits":               {query: world.EventQuery{Limit: 3}, rows: [][2]int64{{1, 2}, {3, 2}, {5, 2}}, want: 4, more: true, at: 4},
		"the limit is the end":        {query: world.EventQuery{Limit: 4}, rows: [][2]int64{{1, 2}, {3, 2}}, want: 4, at: 4},
		"from within a commit":        {from: 1, rows: [][2]int64{{1, 2}, {3, 2}}, want: 3, at: 4},
		"from behind a commit":        {from: 2, rows: [][2]int64{{1, 2}, {3, 2}}, want: 2, at: 4},
		"one ID":                      {query: world.EventQuery{CorrelationID: "3"}, rows: [][2]int64{{1, 2}, {3, 2}}, want: 1, at: 4},
		"one type":                    {query: world.EventQuery{Types: []world.EventType{world.RunPaused}}, rows: [][2]int64{{1, 2}, {3, 2}}, at: 4},
		"filtered looks at so many":   {query: world.EventQuery{CorrelationID: "none"}, rows: [][2]int64{{1, rules.MostFiltered}, {rules.MostFiltered + 1, 2}}, more: true, at: rules.MostFiltered},
		"a gap":                       {rows: [][2]int64{{1, 2}, {5, 2}}, corrupt: true, at: 2},
		"a gap that was trimmed":      {trimmed: 5, rows: [][2]int64{{1, 2}, {5, 2}}, want: 4, at: 6},
		"a gap behind what was":       {trimmed: 5, rows: [][2]int64{{1, 2}, {6, 2}}, corrupt: true, at: 2},
		"no number":                   {rows: [][2]int64{{0, 2}}, corrupt: true},
		"no events":                   {rows: [][2]int64{{1, 0}}, corrupt: true},
		"more numbers than there are": {rows: [][2]int64{{math.MaxInt64 - 1, 2}}, corrupt: true},
		"fewer events than it says":   {rows: [][2]int64{{1, 2}}, missing: 1, corrupt: true},
	} {
		t.Run(name, func(t *testing.T) {
			p := rules.EventPage{Run: "r", Query: &test.query, From: test.from, EventPage: world.EventPage{Trimmed: test.trimmed}}
			var err error
			for _, row := range test.rows {
				var wants bool
				if wants, err = p.Wants(row[0], row[1]); err == nil && wants {
					var events []world.Event
					for i := range row[1] - test.missing {
						events = append(events, world.Event{Seq: row[0] + i, ID: string(rune('0' + row[0] + i))})
					}
					err = p.Add(row[0], row[1], events)
				}
				if err != nil || p.More {
					break
				}
			}
			if errors.Is(err, world.ErrCorrupt) != test.corrupt || err != nil && !test.corrupt {
				t.Fatalf("got %v, corrupt wanted: %t", err, test.corrupt)
			}
			if p.From != test.at || err == nil && (len(p.Events) != test.want || p.More != test.more || p.Cursor != world.Cursor(test.at)) {
				t.Errorf("got %d events up to %d, cursor %s, more %t; want %d up to %d, more %t", len(p.Events), p.From, p.Cursor, p.More, test.want, test.at, test.more)
			}
		})
	}
}
