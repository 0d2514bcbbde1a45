package rules

// What took the places of runs that did not complete, as lists of runs say it.

import (
	"slices"
	"strings"

	"github.com/stepwell/stepwell/world"
)

// Heirs are the newest replacements of runs, by the ID of the replaced run.
type Heirs map[string]*world.Heir

// Bequeathed returns the IDs of runs that may have been replaced: those that ended without
// completing.
func Bequeathed(runs []world.Run) (ids []string) {
	for i := range runs {
		if s := runs[i].Status; s.Terminal() && s != world.Completed {
			ids = append(ids, runs[i].ID)
		}
	}
	return ids
}

// Tell sets the Newest of each run.
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

// Forebear is a run that replaced another, or was replaced.
type Forebear struct {
	Key   string
	Child bool
}

// Forebears are such runs, by ID.
type Forebears map[string]Forebear

// Replaces returns the run that a run with this idempotency key replaced; "": none.
func Replaces(key string) string {
	of, _ := strings.CutPrefix(key, world.RetryKey(""))
	if of == key {
		return ""
	}
	return of
}

// Replacing returns the IDs of runs that replaced others.
func Replacing(runs []world.Run) (ids []string) {
	for i := range runs {
		if Replaces(runs[i].Key) != "" {
			ids = append(ids, runs[i].ID)
		}
	}
	return ids
}

// Tell sets the FirstKey of each run. With roots it leaves out replacements of children.
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
