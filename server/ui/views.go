package ui

// This file keeps how a visitor looks at lists of runs: saved filters, the columns, and what a page is sorted by. The
// first two are in cookies of their own, so that they work without scripts, and nothing of them is on the server.

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/stepwell/stepwell/world"
)

const (
	viewsCookie   = "stepwell_views"
	columnsCookie = "stepwell_columns"
)

// Bounds of what is kept, as browsers keep at most 4 kB in a cookie.
const (
	mostViews     = 12
	mostViewName  = 40
	mostViewBytes = 3000
)

// savedView is a filter with a name.
type savedView struct {
	Name  string `json:"n"`
	Query string `json:"q"`

	Path string `json:"-"`
	Here bool   `json:"-"` // it is what is shown
	Own  bool   `json:"-"` // it can be removed
}

// given are views that all have.
var given = []savedView{
	{Name: "Not over", Query: "status=pending%2Crunning"}, {Name: "Blocked", Query: "status=blocked"},
	{Name: "Failed in the last day", Query: "since=1d&status=failed"}, {Name: "No children", Query: "roots=true"},
}

// readViews reads what a visitor saved; a cookie that makes no sense is none.
func readViews(r *http.Request) (own []savedView) {
	c, err := r.Cookie(viewsCookie)
	if err != nil {
		return nil
	}
	text, err := base64.RawURLEncoding.DecodeString(c.Value)
	if err != nil || len(text) > mostViewBytes || json.Unmarshal(text, &own) != nil || len(own) > mostViews {
		return nil
	}
	return slices.DeleteFunc(own, func(s savedView) bool { return s.check() != nil })
}

func (s *savedView) check() error {
	query, err := url.ParseQuery(s.Query)
	switch {
	case err != nil || len(query) == 0:
		return fmt.Errorf("%w: a view is a filter: set one first", world.ErrInvalid)
	case s.Name == "" || !utf8.ValidString(s.Name) || utf8.RuneCountInString(s.Name) > mostViewName:
		return fmt.Errorf("%w: the name of a view has 1 to %d characters", world.ErrInvalid, mostViewName)
	}
	return nil
}

// viewsOf are the views of a page that shows a query.
func (v *visit) viewsOf(query string) (list []savedView) {
	for i, s := range slices.Concat(given, readViews(v.Request)) {
		s.Path, s.Own = Base+"runs?"+s.Query, i >= len(given)
		s.Here = s.Query == query
		s.Name = visible(s.Name)
		list = append(list, s)
	}
	return list
}

// keepView saves a view, or removes the one with that name; "": neither was asked for.
func (v *visit) keepView() (cookie string, set bool, err error) {
	own, name := readViews(v.Request), strings.TrimSpace(v.Form.Get("view"))
	query, err := url.ParseQuery(v.Form.Get("query"))
	if err != nil {
		return "", false, fmt.Errorf("%w: the filter: %w", world.ErrInvalid, err)
	}
	drop := v.Form.Get("drop")
	switch {
	case drop != "":
		own = slices.DeleteFunc(own, func(s savedView) bool { return s.Name == drop })
	case v.Form.Has("view"):
		s := savedView{Name: name, Query: without(query, "cursor").Encode()}
		if err := s.check(); err != nil {
			return "", false, err
		}
		own = append(slices.DeleteFunc(own, func(s savedView) bool { return s.Name == name }), s)
	default:
		return "", false, nil
	}
	text, err := json.Marshal(own)
	if err != nil || len(text) > mostViewBytes || len(own) > mostViews {
		return "", false, fmt.Errorf("%w: there is room for %d views of %d bytes in total: remove one first", world.ErrInvalid, mostViews, mostViewBytes)
	}
	if len(own) == 0 {
		return "", true, nil
	}
	return base64.RawURLEncoding.EncodeToString(text), true, nil
}

// column is a part of a row that can be left out.
type column struct {
	Name, Label string
	On          bool
}

// columns are those that there are, and which are shown unless told.
var columns = []column{
	{"key", "key", true}, {"attributes", "attributes", true}, {"priority", "priority", true}, {"claims", "claims", false}, {"parent", "parent", false},
	{"why", "why", true}, {"created", "created", true}, {"span", "for", true},
}

// readColumns are the columns as a visitor likes them.
func readColumns(r *http.Request) []column {
	list := slices.Clone(columns)
	if c, err := r.Cookie(columnsCookie); err == nil {
		shown := strings.Split(c.Value, ".")
		for i := range list {
			list[i].On = slices.Contains(shown, list[i].Name)
		}
	}
	return list
}

// keepColumns is what the form of columns has; set: it was that form.
func (v *visit) keepColumns() (cookie string, set bool) {
	if !v.Form.Has("columns") {
		return "", false
	}
	shown := []string{"status"} // so that none is not taken for no cookie
	for _, c := range columns {
		if slices.Contains(v.Form["column"], c.Name) {
			shown = append(shown, c.Name)
		}
	}
	return strings.Join(shown, "."), true
}

// sorts are what a page can be sorted by, with how rows then stand to each other.
var sorts = map[string]func(a, b *runRow) int{
	"workflow": func(a, b *runRow) int { return cmp.Compare(a.Workflow, b.Workflow) },
	"status":   func(a, b *runRow) int { return cmp.Compare(a.Status.Word, b.Status.Word) },
	"priority": func(a, b *runRow) int { return cmp.Compare(b.Priority, a.Priority) },
	"claims":   func(a, b *runRow) int { return cmp.Compare(b.Claims, a.Claims) },
	"span":     func(a, b *runRow) int { return cmp.Compare(b.lasted, a.lasted) },
	"created":  func(a, b *runRow) int { return a.created.Compare(b.created) }, // the oldest first
}

// sortRows sorts the rows of a page, and makes the links that sort it: by what it is sorted by already, one leads back
// to the newest first.
func (v *visit) sortRows(rows []runRow, query url.Values) (links map[string]string, by string) {
	by = query.Get("sort")
	if sorts[by] == nil {
		by = ""
	} else {
		slices.SortStableFunc(rows, func(a, b runRow) int { return sorts[by](&a, &b) })
	}
	links = map[string]string{}
	for name := range sorts {
		to := without(query, "sort")
		if name != by {
			to.Set("sort", name)
		}
		links[name] = Base + "runs?" + to.Encode()
	}
	return links, by
}
