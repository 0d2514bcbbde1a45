package rules

// Singletons: what becomes of a birth where a run of its workflow and key is live.

import (
	"fmt"
	"slices"

	"github.com/stepwell/stepwell/world"
)

// Single is the singleton's key of a birth.
type Single struct {
	world.Place
	c *world.Commit
}

// SingleOf returns the singleton's key of a run's birth; nil: none, or the birth also ends the run.
func SingleOf(c *world.Commit) *Single {
	b := c.Events[0].Birth
	i := slices.IndexFunc(b.Places, func(p world.Place) bool { return p.Single != "" })
	if i < 0 || End(c.Events) != nil {
		return nil
	}
	return &Single{b.Places[i], c}
}

// AnySingle reports whether a commit creates a singleton run.
func AnySingle(c *world.Commit) bool {
	return c.Birth() && SingleOf(c) != nil || slices.ContainsFunc(c.Births, func(b *world.Commit) bool { return SingleOf(b) != nil })
}

// Text returns the key as stores keep it. A workflow's name has no slash.
func (s *Single) Text() string { return s.Limit + "/" + s.Key }

// Replaces reports whether the new run replaces the live one. A run that is made from another, or
// from a log, replaces none, because the live one may be newer.
func (s *Single) Replaces() bool {
	return s.Single == world.SingleReplace && !s.made()
}

func (s *Single) made() bool {
	return s.c.Events[0].Birth.Origin != nil || slices.ContainsFunc(s.c.Events, func(e world.Event) bool { return e.Type == world.RunStarted })
}

// Meet decides about a birth, not of a child, while a run with its key is live: existing is that
// run if no new one is created. An error refuses the birth. Otherwise the new run replaces the live
// one: send [Single.Cancel].
func (s *Single) Meet(live string) (existing string, err error) {
	switch {
	case live == "" || s.Replaces():
		return "", nil
	case s.made():
		return "", world.SingleLive(s.c.Run, live, &s.Place)
	}
	return live, nil
}

// Cancel returns the cancel for the live run that is replaced.
func (s *Single) Cancel(live string) world.Delivery {
	return world.Delivery{Run: live, ID: "single/" + s.c.Run, Events: []world.Event{{
		Type: world.CancelRequested, By: s.c.Run, Reason: fmt.Sprintf("run %s replaces it, by %s", s.c.Run, s.SingleText()),
	}}}
}

// Singles are the singleton children of one commit, decided one after another.
type Singles struct {
	c       *world.Commit
	created map[string]string // runs, by their keys
}

// SinglesOf returns the Singles of a commit.
func SinglesOf(c *world.Commit) *Singles { return &Singles{c: c} }

// Meet returns the live run that prevents child i, if nothing else does; "": none. live returns the
// live run with a key. A child does not replace its own parent, because that would end both.
func (all *Singles) Meet(i int, live func(key string) (string, error)) (run string, err error) {
	s := SingleOf(all.c.Births[i])
	if s == nil || Twin(all.c, i) {
		return "", nil
	}
	key := s.Text()
	run = all.created[key]
	if run == "" {
		if run, err = live(key); err != nil {
			return "", err
		}
	}
	if run != "" && (!s.Replaces() || run == all.c.Run) {
		return run, nil
	}
	if all.created == nil {
		all.created = make(map[string]string)
	}
	all.created[key] = all.c.Births[i].Run
	return "", nil
}
