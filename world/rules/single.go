package rules

// Singletons: what becomes of a birth where a run of its workflow and key is live.

import (
	"fmt"
	"slices"

	"github.com/stepwell/stepwell/world"
)

// Single is what a birth says of the one live run of its key.
type Single struct {
	world.Place
	c *world.Commit
}

// SingleOf is what the birth of a run says; nil: nothing, or the run is over with it.
func SingleOf(c *world.Commit) *Single {
	b := c.Events[0].Birth
	i := slices.IndexFunc(b.Places, func(p world.Place) bool { return p.Single != "" })
	if i < 0 || End(c.Events) != nil {
		return nil
	}
	return &Single{b.Places[i], c}
}

// AnySingle reports whether a commit creates a run that is a singleton.
func AnySingle(c *world.Commit) bool {
	return c.Birth() && SingleOf(c) != nil || slices.ContainsFunc(c.Births, func(b *world.Commit) bool { return SingleOf(b) != nil })
}

// Text is how stores keep the key: a workflow's name has no slash.
func (s *Single) Text() string { return s.Limit + "/" + s.Key }

// Replaces reports whether the new run takes the place of the one that is live. What is made of another run, or of a
// log, takes nobody's: that may be newer.
func (s *Single) Replaces() bool {
	return s.Single == world.SingleReplace && !s.made()
}

func (s *Single) made() bool {
	return s.c.Events[0].Birth.Origin != nil || slices.ContainsFunc(s.c.Events, func(e world.Event) bool { return e.Type == world.RunStarted })
}

// Meet tells what becomes of a birth that is no child's, where a run is live that has its key: existing is that run
// where there is no new one. An error refuses the birth. Else the new one takes its place, by [Single.Cancel].
func (s *Single) Meet(live string) (existing string, err error) {
	switch {
	case live == "" || s.Replaces():
		return "", nil
	case s.made():
		return "", world.SingleLive(s.c.Run, live, &s.Place)
	}
	return live, nil
}

// Cancel is what the run is sent whose place a new one takes.
func (s *Single) Cancel(live string) world.Delivery {
	return world.Delivery{Run: live, ID: "single/" + s.c.Run, Events: []world.Event{{
		Type: world.CancelRequested, By: s.c.Run, Reason: fmt.Sprintf("run %s replaces it, by %s", s.c.Run, s.SingleText()),
	}}}
}

// Singles are the children of one commit that are singletons, as they are settled one after another.
type Singles struct {
	c       *world.Commit
	created map[string]string // runs, by their keys
}

// SinglesOf are those of a commit.
func SinglesOf(c *world.Commit) *Singles { return &Singles{c: c} }

// Meet tells, of a child that nothing else keeps from being created, which run does; "": none. live finds the live run
// that has a key. A child does not take the place of its own parent: that would end both.
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
