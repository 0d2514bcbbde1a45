//go:build unix

package soak

// This file looks at what has come of parcels.

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/world"
)

// examine holds all that is left, and all that was noted, against what was sent.
func (s *sender) examine(t *testing.T, q *inquest, dir string) {
	t.Helper()
	ctx, stop := context.WithTimeout(context.Background(), patience)
	defer stop()
	written, err := readNotes(dir)
	if err != nil {
		t.Fatal(err)
	}
	q.faults = append(q.faults, judgePost(written, s.made)...)
	all := slices.Concat(s.made...)
	for _, flow := range []string{"ship", "pack", "await"} {
		var got []int
		for info, err := range s.app.List(ctx, stepwell.ListFilter{Workflow: flow}) {
			if err != nil {
				t.Fatal(err)
			}
			n, of := -1, parcel{}
			if err := json.Unmarshal(info.Output, &n); err != nil || info.Status != world.Completed {
				q.fault("run %s of %s: %s, %v, %v", info.ID, flow, info.Status, info.Error, err)
			}
			if flow != "await" {
				if err := json.Unmarshal(info.Input, &of); err != nil || of.N != n {
					q.fault("run %s of %s: it came to %d with the input %s, %v", info.ID, flow, n, info.Input, err)
				}
			}
			got = append(got, n)
		}
		slices.Sort(got)
		if diff := cmp.Diff(s.numbers(), got); diff != "" {
			q.fault("parcels that a run of %s is to be of, -, and is of, +:\n%s", flow, diff)
		}
	}
	var bad, wrong []string
	for _, p := range all {
		if text, ok := p.wrong(); ok {
			wrong = append(wrong, fmt.Sprintf("%q", text))
		}
		if p.bad() {
			text, err := json.Marshal(p)
			if err != nil {
				t.Fatal(err)
			}
			bad = append(bad, string(text))
		}
	}
	for name, want := range map[string][]string{
		seen.Name(): slices.Concat(bad, wrong), lined.Name(): bad, work.Name(): nil, echoes.Name(): nil, shipped: wrong,
	} {
		got, err := s.dead(ctx, name)
		if err != nil {
			t.Fatal(err)
		}
		slices.Sort(got)
		slices.Sort(want)
		if diff := cmp.Diff(want, got, cmp.Transformer("nil", func(s []string) []string { return append([]string{}, s...) })); diff != "" {
			q.fault("dead letters of %s that must be there -, that are +:\n%s", name, diff)
		}
	}
	if quiet, err := s.quiet(ctx); err != nil || !quiet {
		q.fault("something is not over: %v", err)
	}
	if shapes, err := s.topics().Shapes(ctx); err != nil || len(shapes) > 0 {
		q.fault("somebody listens yet: %v, %v", shapes, err)
	}
}

// booked holds that each parcel is in the ledger once.
func (s *sender) booked(t *testing.T, q *inquest) {
	t.Helper()
	rows, err := q.conn.Query(context.Background(), "select transfer from ledger.moves order by transfer")
	if err != nil {
		t.Fatal(err)
	}
	got, err := pgx.CollectRows(rows, pgx.RowTo[int])
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(s.numbers(), got); diff != "" {
		q.fault("parcels that must be booked -, that are +:\n%s", diff)
	}
}

// numbers are those of all parcels, in order.
func (s *sender) numbers() (all []int) {
	for _, p := range slices.Concat(s.made...) {
		all = append(all, p.N)
	}
	slices.Sort(all)
	return all
}

// dead are the payloads of the dead letters of a queue.
func (s *sender) dead(ctx context.Context, name string) (all []string, err error) {
	for q := (world.PeekQuery{Queue: name, State: world.MessageDead}); ; {
		page, err := s.queues().PeekMessages(ctx, q)
		if err != nil {
			return nil, err
		}
		for i := range page.Messages {
			all = append(all, string(page.Messages[i].Payload))
		}
		if q.Cursor = page.Cursor; q.Cursor == "" {
			return all, nil
		}
	}
}

// fate is what became of one parcel in one queue.
type fate struct {
	ids        map[string]bool // of the messages that it came in
	came, done int64           // when it came first, and was done first; 0: never
}

// judgePost judges what handlers wrote down: each parcel came to each queue in one message, was done there at least
// once, and where there is an order in it.
func judgePost(notes []note, made [][]parcel) (faults []string) {
	fault := func(format string, args ...any) { faults = append(faults, fmt.Sprintf(format, args...)) }
	fates := map[string]*fate{}
	for _, l := range notes {
		if l.What != noteCame && l.What != noteDone {
			continue
		}
		name := nameOf(l.Name, l.Step, l.Transfer)
		f := fates[name]
		if f == nil {
			f = &fate{ids: map[string]bool{}, came: l.At}
			fates[name] = f
		}
		f.ids[l.Key] = true
		if l.What == noteDone && f.done == 0 {
			f.done = l.At
		}
	}
	look := func(name string) (f *fate) {
		if f = fates[name]; f == nil {
			fault("%s: it never came", name)
			return &fate{}
		}
		delete(fates, name)
		if len(f.ids) != 1 {
			fault("%s: it came in the messages %v", name, slices.Sorted(maps.Keys(f.ids)))
		}
		if f.done == 0 {
			fault("%s: nobody was ever done with it", name)
		}
		return f
	}
	behind := func(name string, f, before *fate) {
		if f.came != 0 && before.done != 0 && f.came < before.done {
			fault("%s: it came at %s, and the one before it was done at %s", name, stamp(f.came), stamp(before.done))
		}
	}
	for _, of := range made {
		last := &fate{}
		for _, p := range of {
			look(nameOf("seen", "made", p.N))
			f := look(nameOf("lined", "made", p.N))
			behind(nameOf("lined", "made", p.N), f, last)
			last = f
			look(nameOf("echoes", "shipped", p.N))
			behind(nameOf("echoes", "packed", p.N), look(nameOf("echoes", "packed", p.N)), look(nameOf("echoes", "packing", p.N)))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(fates)) {
		fault("%s: nobody has sent it", name)
	}
	return faults
}

// nameOf names a parcel in a queue.
func nameOf(queue, how string, n int) string {
	return fmt.Sprintf("queue %s: parcel %d %s", queue, n, how)
}

// TestJudgePost: the judge of messages finds what it is there for.
func TestJudgePost(t *testing.T) {
	at := int64(0)
	line := func(what noteKind, queue, how string, n int, id string) note {
		at++
		return note{What: what, At: at, Name: queue, Step: how, Transfer: n, Key: id}
	}
	handled := func(queue, how string, n int) []note {
		id := nameOf(queue, how, n)
		return []note{line(noteCame, queue, how, n, id), line(noteDone, queue, how, n, id)}
	}
	good := func(n int) []note {
		return slices.Concat(handled("seen", "made", n), handled("lined", "made", n), handled("echoes", "shipped", n), handled("echoes", "packing", n), handled("echoes", "packed", n))
	}
	without := func(notes []note, what noteKind, queue, how string) []note {
		return slices.DeleteFunc(notes, func(l note) bool { return (what == "" || l.What == what) && l.Name == queue && l.Step == how })
	}
	made := [][]parcel{{{N: 4}, {N: 8}}}
	for name, test := range map[string]struct {
		notes  []note
		faults int
	}{
		"all is well":                {slices.Concat(good(4), good(8)), 0},
		"it comes again":             {slices.Concat(good(4), good(8), handled("lined", "made", 4)), 0},
		"lost in a queue":            {without(slices.Concat(good(4), good(8)), "", "seen", "made"), 2},
		"it came and was never done": {append(without(good(4), noteDone, "seen", "made"), good(8)...), 1},
		"in two messages":            {append(slices.Concat(good(4), good(8)), line(noteCame, "seen", "made", 4, "another")), 1},
		"sent twice by a run":        {append(slices.Concat(good(4), good(8)), line(noteCame, "echoes", "packed", 8, "another")), 1},
		"out of order":               {slices.Concat(good(8), good(4)), 1},
		"of nobody":                  {slices.Concat(good(4), good(8), handled("seen", "made", 12)), 1},
		"begun before the one ends":  {append(slices.Concat(good(4)[:3], []note{line(noteCame, "lined", "made", 8, nameOf("lined", "made", 8))}), slices.Concat(good(4), good(8))...), 1},
	} {
		slices.SortStableFunc(test.notes, func(a, b note) int { return int(a.At - b.At) })
		if got := judgePost(test.notes, made); len(got) != test.faults {
			t.Errorf("%s: got %q, want %d faults", name, got, test.faults)
		}
	}
}
