package ui

// This file says which rows a timeline has: the entries of a large Map stand in one, with a bar of their states, and a link leads to them all.

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/stepwell/stepwell/internal/human"
	"github.com/stepwell/stepwell/world/journal"
)

// leastFolded is how many coroutines a Map has whose entries are folded into one row.
const leastFolded = 10

// unit is a row of a timeline: an entry, or all of a Map.
type unit struct {
	entries []*journal.Entry
	number  int    // of the first, from 1
	fold    string // names the Map; "": it is one entry
	name    string // of the Map, for people
	items   int
}

// mapPath is the coroutine of one item of a Map, which has two numbers: which Map it is, and which item. What the Map stands in is before it.
var mapPath = regexp.MustCompile(`^((?:[^/\\]|\\.)*\[\d+\])\[(\d+)\](?:/|$)`)

// mapOf names the outermost Map that an entry belongs to, and its item.
func mapOf(en *journal.Entry) (name, item string, ok bool) {
	m := mapPath.FindStringSubmatch(en.Path)
	if m == nil {
		return "", "", false
	}
	return m[1], m[2], true
}

// foldName names a Map among all of a run.
func foldName(segment int, name string) string { return strconv.Itoa(segment) + ":" + name }

// unitsOf are the rows for entries. only is a Map whose entries alone are shown, each in a row of its own.
func unitsOf(entries []*journal.Entry, only string) (list []*unit) {
	items := map[string]map[string]bool{}
	for _, en := range entries {
		if name, item, ok := mapOf(en); ok {
			key := foldName(en.Segment, name)
			if items[key] == nil {
				items[key] = map[string]bool{}
			}
			items[key][item] = true
		}
	}
	folds := map[string]*unit{}
	for i, en := range entries {
		name, _, ok := mapOf(en)
		key := foldName(en.Segment, name)
		switch {
		case only != "":
			if !ok || key != only {
				continue
			}
		case ok && len(items[key]) >= leastFolded:
			if u := folds[key]; u != nil {
				u.entries = append(u.entries, en)
				continue
			}
			folds[key] = &unit{entries: []*journal.Entry{en}, number: i + 1, fold: key, name: name, items: len(items[key])}
			list = append(list, folds[key])
			continue
		}
		list = append(list, &unit{entries: []*journal.Entry{en}, number: i + 1})
	}
	return list
}

// within are the rows that have something in a stretch of time.
func within(list []*unit, from, to, now time.Time) []*unit {
	return slices.DeleteFunc(list, func(u *unit) bool {
		begin, end := span(u.entries, now)
		return begin.After(to) || end.Before(from)
	})
}

// entriesOf are the entries of rows.
func entriesOf(list []*unit) (all []*journal.Entry) {
	for _, u := range list {
		all = append(all, u.entries...)
	}
	return all
}

// states are the statuses of entries, the worst first, as a row of a Map shows them.
var states = []struct {
	tone tone
	mark string
}{{bad, "✗"}, {warm, "○"}, {busy, "●"}, {quiet, "–"}, {good, "✓"}}

// mostFailed is how many failures a row of a Map names.
const mostFailed = 3

// foldRow is the row of a Map.
func (v *visit) foldRow(run string, u *unit, a *axis) entryRow {
	first := u.entries[0]
	begin, end := span(u.entries, v.now)
	row := entryRow{
		ID: "fold-" + strconv.FormatInt(first.Seq, 10), Seq: first.Seq, Number: u.number, Kind: "map", At: v.moment(begin), Took: human.Span(end.Sub(begin)),
		Name: fmt.Sprintf("%s, %d items", human.Cut(visible(u.name), 80), u.items), Unfold: v.with("in", u.fold, "page"),
	}
	counts := map[string]int{} // by word
	tones := map[tone]int{}
	var names, words []string
	for _, en := range u.entries {
		st := entryStatus(en)
		if counts[st.Word]++; counts[st.Word] == 1 {
			words = append(words, st.Word)
		}
		tones[st.Tone]++
		if name := human.Cut(visible(en.Name), 40); !slices.Contains(names, name) && len(names) < 4 {
			names = append(names, name)
		}
		if en.Status == journal.EntryFailed && en.Error != nil && len(row.Notes) < mostFailed {
			row.Notes = append(row.Notes, note{"failed: " + human.Cut(en.Title(), 80), row.Unfold + "#" + en.ID})
		}
	}
	slices.SortStableFunc(words, func(a, b string) int { return counts[b] - counts[a] })
	var said []string
	for _, w := range words {
		said = append(said, fmt.Sprintf("%d %s", counts[w], w))
	}
	row.Notes = append([]note{{Text: strings.Join(names, ", ")}, {Text: strings.Join(said, ", ")}}, row.Notes...)
	x, w := a.place(begin), max(a.place(end)-a.place(begin), leastBar*2)
	x = min(x, 100-w)
	for _, s := range states {
		n := tones[s.tone]
		if n == 0 {
			continue
		}
		if row.Status.Word == "" {
			row.Status = status{fmt.Sprintf("%d of %d", tones[good], len(u.entries)), s.tone, s.mark}
		}
		part := w * float64(n) / float64(len(u.entries))
		row.Bars = append(row.Bars, bar{X: percent(x), W: percent(part), Class: "bar-" + string(s.tone), Title: strings.Join(said, ", ")})
		x += part
	}
	row.Folded = len(u.entries)
	return row
}

// with is the address of this page with a parameter set, or left out where it is "", and others left out.
func (v *visit) with(name, value string, without ...string) string {
	q := v.URL.Query()
	for _, n := range append(without, name, "did", "refresh") {
		q.Del(n)
	}
	if value != "" {
		q.Set(name, value)
	}
	if len(q) == 0 {
		return v.URL.Path
	}
	return v.URL.Path + "?" + q.Encode()
}

// zoom is a stretch of the time of a timeline.
type zoom struct {
	On                        bool
	In, Out, Earlier, Later   string // addresses; "" where there is none
	from, to                  time.Time
	Base, Begin, Length, Text string // for the script, in microseconds: the whole begins at Base
}

// zoomParam names it in an address: two offsets from the run's birth, in microseconds.
const zoomParam = "zoom"

// zoomOf reads which stretch the visitor asks for; what makes no sense is the whole.
func (v *visit) zoomOf(from, to time.Time) zoom {
	z := zoom{from: from, to: to}
	a, b, ok := strings.Cut(v.URL.Query().Get(zoomParam), "-")
	first, err1 := strconv.ParseInt(a, 10, 64)
	last, err2 := strconv.ParseInt(b, 10, 64)
	const most = int64(time.Hour/time.Microsecond) * 24 * 366 * 200
	if ok && err1 == nil && err2 == nil && first >= 0 && last > first && last < most {
		z.On = true
		z.from, z.to = from.Add(time.Duration(first)*time.Microsecond), from.Add(time.Duration(last)*time.Microsecond)
	}
	begin, length, whole := z.from.Sub(from).Microseconds(), z.to.Sub(z.from).Microseconds(), to.Sub(from).Microseconds()
	at := func(begin, length int64) string {
		begin = max(begin, 0)
		if begin == 0 && length >= whole {
			return v.with(zoomParam, "", "page")
		}
		return v.with(zoomParam, fmt.Sprintf("%d-%d", begin, begin+length), "page")
	}
	if z.On {
		z.Out = at(begin-length/2, 2*length)
		if begin > 0 {
			z.Earlier = at(begin-length/2, length)
		}
		if begin+length < whole {
			z.Later = at(begin+length/2, length)
		}
		z.Text = human.Span(z.from.Sub(from)) + " to " + human.Span(z.to.Sub(from)) + " after it was created"
	}
	z.Begin, z.Length = strconv.FormatInt(begin, 10), strconv.FormatInt(length, 10)
	z.Base = v.with(zoomParam, "", "page")
	return z
}

// leastZoom is the shortest stretch that is looked into.
const leastZoom = 2 * time.Millisecond

// into is the way to the middle half of what is drawn, as it is drawn.
func (z *zoom) into(v *visit, birth time.Time, a *axis) {
	from, to := a.at(25), a.at(75)
	if to.Sub(from) >= leastZoom/2 {
		z.In = v.with(zoomParam, fmt.Sprintf("%d-%d", from.Sub(birth).Microseconds(), to.Sub(birth).Microseconds()), "page")
	}
}
