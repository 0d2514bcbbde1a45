package ui

// This file shows the family of a run as a tree: from what it comes from down to all children, with what was made of
// each: retries, restarts and forks.

import (
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/internal/human"
	"github.com/stepwell/stepwell/world"
)

// relative is a run in the tree.
type relative struct {
	ID, Workflow, Path string
	Version            int
	Status             status
	Span               string
	Made               string // what it was made as, of the run above it; "": it is a child
	Here               bool   // the page is about it
	Children           []*relative
	More               string // the list of more children than are shown
	Others             string // the list of all that was made of it

	created time.Time
}

// familyView is the page.
type familyView struct {
	ID, Path, Workflow string
	Top                *relative
	Above              string // a run that is not shown: there are too many above
	Gone               string // a run above that is not kept any more
	Count              int
	Cut                bool // there are more
}

// Bounds of a tree: how far up it begins, how many runs it has, and how many children of each.
const (
	mostAbove    = 20
	mostFamily   = 200
	mostChildren = 50
	mostMade     = 5
)

func family(u *UI, v *visit) error {
	info, err := u.find(v)
	if err != nil {
		return err
	}
	p := &familyView{ID: info.ID, Path: runPath(info.ID), Workflow: info.Workflow}
	top, below := *info, []stepwell.RunInfo(nil)
	for n := 0; above(&top) != ""; n++ {
		if n == mostAbove {
			p.Above = above(&top)
			break
		}
		next, err := u.app.Get(v.Context(), above(&top))
		if errors.Is(err, stepwell.ErrNotFound) {
			p.Gone = above(&top)
			break
		}
		if err != nil {
			return err
		}
		below = append(below, top)
		top = next
	}
	t := tree{u: u, v: v, here: info.ID, seen: map[string]bool{}}
	p.Top = t.relative(&top)
	is, of := p.Top, &top
	for i := len(below) - 1; i >= 0; i-- { // those that lead to the run are there, however many others there are
		is, of = t.under(is, of, &below[i]), &below[i]
	}
	if err := t.grow(); err != nil {
		return err
	}
	p.Count, p.Cut = len(t.seen), t.cut
	v.draw(http.StatusOK, "family", "Family of "+info.ID, p)
	return nil
}

// above is the run that another is a child of, or was made of; "": none.
func above(r *stepwell.RunInfo) string {
	switch {
	case r.Parent != nil:
		return r.Parent.Run
	case r.Origin != nil:
		return r.Origin.Run
	}
	return ""
}

// tree is one that grows, level by level.
type tree struct {
	u    *UI
	v    *visit
	here string
	seen map[string]bool
	rest []grown
	cut  bool
}

// grown is a run whose children are not known yet.
type grown struct {
	is  *relative
	run stepwell.RunInfo
}

func (t *tree) relative(r *stepwell.RunInfo) *relative {
	end := t.v.now
	if r.Status.Terminal() {
		end = r.EndedAt
	}
	is := &relative{ID: r.ID, Workflow: r.Workflow, Path: runPath(r.ID), Version: r.Version, Status: runStatus(r), Span: human.Span(end.Sub(r.CreatedAt)), Here: r.ID == t.here, created: r.CreatedAt}
	t.seen[r.ID] = true
	t.rest = append(t.rest, grown{is, *r})
	return is
}

// grow adds the children of all, and what was made of them, the oldest first, until there are too many.
func (t *tree) grow() error {
	for len(t.rest) > 0 {
		next := t.rest[0]
		t.rest = t.rest[1:]
		if len(t.seen) >= mostFamily {
			t.cut = true
			return nil
		}
		var err error
		if next.is.Others, err = t.add(next, stepwell.ListFilter{Origin: next.run.ID}, "origin", mostMade); err != nil {
			return err
		}
		if next.is.More, err = t.add(next, stepwell.ListFilter{Parent: next.run.ID}, "parent", mostChildren); err != nil {
			return err
		}
		slices.SortStableFunc(next.is.Children, func(a, b *relative) int {
			if (a.Made == "") != (b.Made == "") {
				return strings.Compare(b.Made, a.Made) // what was made of it is before its children
			}
			return a.created.Compare(b.created)
		})
	}
	return nil
}

// under adds a run below the one that it is a child of, or was made of.
func (t *tree) under(parent *relative, of, r *stepwell.RunInfo) *relative {
	is := t.relative(r)
	if above := r.Parent; (above == nil || above.Run != of.ID) && r.Origin != nil {
		if is.Made = "from event " + strconv.FormatInt(r.Origin.Seq, 10); r.Key == world.RetryKey(of.ID) {
			is.Made = "in its place"
		}
	}
	parent.Children = append(parent.Children, is)
	return is
}

// add adds the runs of a filter below one; where there are more, it returns the list of them.
func (t *tree) add(to grown, f stepwell.ListFilter, name string, most int) (more string, err error) {
	page, err := t.u.app.Page(t.v.Context(), f, "", most)
	if err != nil {
		return "", err
	}
	for i := len(page.Runs) - 1; i >= 0; i-- {
		r := &page.Runs[i]
		if t.seen[r.ID] || len(t.seen) >= mostFamily {
			continue
		}
		t.under(to.is, &to.run, r)
	}
	if page.Cursor != "" {
		more = Base + "runs?" + url.Values{name: {to.run.ID}}.Encode()
	}
	return more, nil
}
