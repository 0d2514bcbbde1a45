package rules

// What took the places of runs that did not complete, as lists of runs say it.

import (
	"slices"
	"strings"

	"github.com/stepwell/stepwell/world"
)

// Heirs are, by a run's ID, what took the run's place.
type Heirs map[string]*world.Heir

// Bequeathed are the IDs of the runs whose places others may have taken: those that are over and did not complete.
func Bequeathed(runs []world.Run) (ids []string) {
	for i := range runs {
		if s := runs[i].Status; s.Terminal() && s != world.Completed {
			ids = append(ids, runs[i].ID)
		}
	}
	return ids
}

// Tell says of each of some runs what is in its place at last.
func (h Heirs) Tell(runs []world.Run) {
	for _, id := range Bequeathed(runs) {
		h.settle(id)
	}
	for i := range runs {
		runs[i].Newest = h[runs[i].ID]
	}
}

// settle has all on the way from a run lead to its end, so that a long way is gone once. No way is longer than there
// are heirs: one that is comes of a damaged row.
func (h Heirs) settle(run string) {
	var last *world.Heir
	var way []string
	for next := h[run]; next != nil && len(way) <= len(h); next = h[next.Run] {
		way, last, run = append(way, run), next, next.Run
	}
	for _, id := range way {
		h[id] = last
	}
}

// Forebear is what is known of a run that took another's place, or whose place was taken.
type Forebear struct {
	Key   string
	Child bool
}

// Forebears are, by their IDs, the runs that took the places of others, and those.
type Forebears map[string]Forebear

// Replaces is the run whose place a run took that has an idempotency key; "": it took none.
func Replaces(key string) string {
	of, _ := strings.CutPrefix(key, world.RetryKey(""))
	if of == key {
		return ""
	}
	return of
}

// Replacing are the IDs of the runs that took the places of others.
func Replacing(runs []world.Run) (ids []string) {
	for i := range runs {
		if Replaces(runs[i].Key) != "" {
			ids = append(ids, runs[i].ID)
		}
	}
	return ids
}

// Tell says of each of some runs which key it took over. Where no children are asked for, it leaves out those that are
// in the places of some.
func (f Forebears) Tell(runs []world.Run, roots bool) []world.Run {
	child := map[string]bool{}
	for _, id := range Replacing(runs) {
		first, is := id, f[id]
		for range f { // no way is longer, but for that of a damaged row
			of := Replaces(is.Key)
			next, known := f[of]
			if of == "" || !known {
				break
			}
			first, is = of, next
		}
		at := slices.IndexFunc(runs, func(r world.Run) bool { return r.ID == id })
		if child[id] = is.Child; first != id && Replaces(is.Key) == "" {
			runs[at].FirstKey = is.Key
		}
	}
	if roots {
		runs = slices.DeleteFunc(runs, func(r world.Run) bool { return child[r.ID] })
	}
	return runs
}
