package ui

// This file lays time out beside a timeline. A run that works for a second and then sleeps for a day would show a day and nothing else, so where most of what
// happened would not be seen, long stretches are drawn shorter than they are, and the page says so.

import (
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/internal/human"
	"github.com/stepwell/stepwell/world/journal"
)

// axis is the time that a timeline shows.
type axis struct {
	Ticks  []tick
	Short  bool   // long stretches are drawn shorter
	Linear bool   // it is drawn to scale, from end to end: a place on it says its time
	Could  bool   // they would be, had the visitor not asked for the scale
	Other  string // the address of the page with the other scale
	points []time.Time
	places []float64 // of the points, in percent
}

// tick is a mark on an axis.
type tick struct {
	X, Text string
	Anchor  string
}

// axisOf spans the entries of a page.
func axisOf(entries []*journal.Entry, s *stepwell.Story, v *visit, z *zoom) axis {
	from, to := s.Run.CreatedAt, v.now
	if s.Run.Status.Terminal() {
		to = s.Run.EndedAt
	}
	switch {
	case z.On:
		from, to = z.from, z.to
	case len(entries) > 0 && len(entries) < len(s.Journal.Entries):
		from, to = span(entries, to)
	}
	if to.Sub(from) < time.Millisecond {
		to = from.Add(time.Millisecond)
	}
	a := axis{points: []time.Time{from, to}, places: []float64{0, 100}}
	if !z.On && crowded(entries, &a) {
		a.Could = true
		if a.Short = v.URL.Query().Get("scale") != "true"; a.Short {
			a.shorten(entries)
		}
		a.Other = v.with("scale", "")
		if a.Short {
			a.Other = v.with("scale", "true")
		}
	}
	a.Linear = !a.Short && (z.On || from.Equal(z.from) && to.Equal(z.to))
	a.tick(v.now)
	return a
}

// span is from when to when entries go; those that are open go to end.
func span(entries []*journal.Entry, end time.Time) (from, to time.Time) {
	from = entries[0].CreatedAt
	to = from
	for _, en := range entries {
		switch {
		case en.CompletedAt.IsZero():
			to = end
		case en.CompletedAt.After(to):
			to = en.CompletedAt
		}
	}
	return from, to
}

// narrow is the part of an axis on which nobody can tell one thing from another, in percent.
const narrow = 3

// crowded reports whether, drawn to scale, most of what happened would stand on a few narrow places.
func crowded(entries []*journal.Entry, a *axis) bool {
	places := map[int]bool{}
	for _, en := range entries {
		places[int(a.place(en.CreatedAt)/narrow)] = true
		if !en.CompletedAt.IsZero() {
			places[int(a.place(en.CompletedAt)/narrow)] = true
		}
	}
	return len(entries) >= 3 && len(places) <= 2+len(entries)/4
}

// mostPoints is about how many entries an axis is bent by.
const mostPoints = 400

// shorten gives each stretch between two things that happened a width that grows much slower than its time.
func (a *axis) shorten(entries []*journal.Entry) {
	from, to := a.points[0], a.points[1]
	points := []time.Time{from, to}
	for i, en := range entries {
		if len(entries) > mostPoints && i%(1+len(entries)/mostPoints) != 0 {
			continue // a large Map: its parts stand close to each other
		}
		for _, t := range []time.Time{en.CreatedAt, en.StartedAt, en.AttemptAt, en.CompletedAt} {
			if t.After(from) && t.Before(to) {
				points = append(points, t)
			}
		}
	}
	slices.SortFunc(points, time.Time.Compare)
	points = slices.CompactFunc(points, time.Time.Equal)
	places := make([]float64, len(points))
	for i := 1; i < len(points); i++ {
		places[i] = places[i-1] + math.Pow(float64(points[i].Sub(points[i-1])), 0.22)
	}
	for i, all := 0, places[len(places)-1]; i < len(places); i++ {
		places[i] *= 100 / all
	}
	a.points, a.places = points, places
}

// tick marks five places with their times.
func (a *axis) tick(now time.Time) {
	const parts = 4
	from := a.points[0]
	short := a.points[len(a.points)-1].Sub(from) < 20*time.Millisecond
	for i := range parts + 1 {
		if short && i > 0 && i < parts {
			continue
		}
		at := float64(i) / parts * 100
		t := tick{X: percent(at), Text: "+" + human.Span(a.at(at).Sub(from)), Anchor: "middle"}
		switch i {
		case 0:
			t.Text, t.Anchor = human.Moment(from, now), "start"
		case parts:
			t.Anchor = "end"
		}
		a.Ticks = append(a.Ticks, t)
	}
}

func percent(p float64) string { return strconv.FormatFloat(p, 'f', 2, 64) + "%" }

// place is where a time is on the axis, in percent.
func (a *axis) place(t time.Time) float64 {
	i, exact := slices.BinarySearchFunc(a.points, t, time.Time.Compare)
	switch {
	case exact:
		return a.places[i]
	case i == 0:
		return 0
	case i == len(a.points):
		return 100
	}
	part := float64(t.Sub(a.points[i-1])) / float64(a.points[i].Sub(a.points[i-1]))
	return a.places[i-1] + part*(a.places[i]-a.places[i-1])
}

// at is the time at a place.
func (a *axis) at(place float64) time.Time {
	i, _ := slices.BinarySearch(a.places, place)
	i = min(max(i, 1), len(a.places)-1)
	part := (place - a.places[i-1]) / (a.places[i] - a.places[i-1])
	return a.points[i-1].Add(time.Duration(part * float64(a.points[i].Sub(a.points[i-1]))))
}
