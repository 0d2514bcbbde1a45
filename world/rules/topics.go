package rules

import (
	"iter"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/stepwell/stepwell/world"
)

// This file holds what of topics lies between publications and subscriptions.

// DuePage fills a page of due publications.
type DuePage struct{ bytes int }

// Add adds a publication, and reports whether there was room for it.
func (d *DuePage) Add(to *world.Due, limit int, p world.Publication) bool {
	if len(to.Publications) == limit || d.bytes >= world.PageBytes {
		return false
	}
	to.Publications = append(to.Publications, p)
	d.bytes += len(p.Payload)
	return true
}

// Next adds a publication that is due at due, in microseconds since 1970 (0: at once), after those
// before.
func (d *DuePage) Next(to *world.Due, limit int, p world.Publication, due int64) bool {
	if !d.Add(to, limit, p) {
		return false
	}
	number, _ := world.PublicationNumber(p.ID)
	to.Last = world.DuePlace(due, number)
	return true
}

// Gone yields the IDs of publications that a Spread finishes, each with why nobody gets it; "": all
// receivers have it.
func Gone(s *world.Spread) iter.Seq2[string, string] {
	return func(yield func(id, why string) bool) {
		for _, id := range s.Done {
			if !yield(id, "") {
				return
			}
		}
		for _, a := range s.Aside {
			if !yield(a.ID, a.Error) {
				return
			}
		}
	}
}

// Touched yields the IDs of all publications that a Spread mentions: they must be due.
func Touched(s *world.Spread) iter.Seq[string] {
	return func(yield func(id string) bool) {
		for id := range Gone(s) {
			if !yield(id) {
				return
			}
		}
		if s.Cut.Open() {
			yield(s.Cut.ID)
		}
	}
}

// Revises reports whether a Spread changes the revision, if nothing was cut before.
func Revises(s *world.Spread) bool {
	return s.Cut != nil || s.Subscribe != nil || s.Unsubscribe != ""
}

// Standing caches the subscriptions of a revision. It is safe for concurrent use.
type Standing struct {
	mu       sync.Mutex
	all      []world.Subscription
	revision int64
	known    bool
}

// At returns the subscriptions at a revision, which the caller read first. The subscriptions may be
// newer; a Spread by them is then refused.
func (s *Standing) At(revision int64, read func() ([]world.Subscription, error)) ([]world.Subscription, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.known || s.revision != revision {
		all, err := read()
		if err != nil {
			return nil, err
		}
		s.all, s.revision, s.known = all, revision, true
	}
	return s.all, nil
}

// GoesOn reports whether a Spread continues or leaves the publication that is cut, as it must while
// that is due.
func GoesOn(cut *world.Cut, s *world.Spread) bool {
	if !cut.Open() || s.Cut != nil && slices.ContainsFunc(s.Cut.Left, func(c world.Cut) bool { return c.ID == cut.ID }) {
		return true
	}
	number, _ := world.PublicationNumber(cut.ID)
	for id := range Touched(s) {
		if n, _ := world.PublicationNumber(id); n == number {
			return true
		}
	}
	return false
}

// Changed returns the subscriptions, by name, after a Spread.
func Changed(all []world.Subscription, s *world.Spread) []world.Subscription {
	out := slices.Clone(all)
	if x := s.Subscribe; x != nil {
		if i, found := subscriptionAt(out, x.Name); found {
			out[i] = *x
		} else {
			out = slices.Insert(out, i, *x)
		}
	}
	return slices.DeleteFunc(out, func(x world.Subscription) bool { return s.Unsubscribe != "" && x.Name == s.Unsubscribe })
}

// Named returns the named subscriptions; without names, all.
func Named(all []world.Subscription, names []string) []world.Subscription {
	return slices.DeleteFunc(slices.Clone(all), func(s world.Subscription) bool { return len(names) > 0 && !slices.Contains(names, s.Name) })
}

func subscriptionAt(all []world.Subscription, name string) (int, bool) {
	return slices.BinarySearchFunc(all, name, func(s world.Subscription, name string) int { return strings.Compare(s.Name, name) })
}

// Published is what a store read of publications, newest first: those that match a query, and how
// far it looked.
type Published struct {
	All    []world.Publication
	Looked int       // number of publications examined
	Last   int64     // number of the last one examined
	At     time.Time // when that one was published
	End    bool      // there are none after it
}

// PublicationPage fills a page with publications, newest first. read examines look publications
// before a number (0: the newest) and returns at most limit that match the query. A page ends as in
// [PeekPage].
func PublicationPage(page *world.PublicationPage, q world.PublicationQuery, before int64, read func(before int64, look, limit int) (Published, error)) error {
	if q.ID != "" { // the number before which it is the first
		number, _ := world.PublicationNumber(q.ID)
		in, err := read(number+1, 1, 1)
		if err == nil && len(in.All) == 1 && in.All[0].ID == q.ID {
			page.Publications = in.All
		}
		return err
	}
	bytes, batch := 0, max(peekBatch, q.Limit/4)
	for seen := 0; seen < mostPeeked; {
		limit := min(batch, q.Limit-len(page.Publications))
		look := limit
		if !q.All() {
			look = min(mostPeeked, 10*batch)
		}
		in, err := read(before, look, limit)
		if err != nil {
			return err
		}
		for _, p := range in.All {
			if p.At.Before(q.Since) {
				break
			}
			page.Publications, page.Cursor = append(page.Publications, p), p.ID
			if bytes += len(p.Payload); len(page.Publications) == q.Limit || bytes >= world.PageBytes {
				return nil
			}
		}
		if in.End || in.At.Before(q.Since) {
			page.Cursor = ""
			return nil
		}
		seen, before, page.Cursor = seen+in.Looked, in.Last, world.PublicationID(in.At, in.Last)
		weight := bytes / max(len(page.Publications), 1)
		batch = min(4*batch, 1_000, max(peekBatch, world.PageBytes/(weight+1))) // as much as a page has, about
	}
	return nil
}
