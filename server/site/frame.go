package site

// This file puts pages into the site: their order, the frame around each, and the index by which they are found.

import (
	"bytes"
	"embed"
	"encoding/json"
	"errors"
	"html/template"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/yuin/goldmark/ast"
	east "github.com/yuin/goldmark/extension/ast"

	"github.com/stepwell/stepwell/server/ui"
)

//go:embed assets
var assets embed.FS

var frame = template.Must(template.ParseFS(assets, "assets/frame.html"))

// site are the pages, and how they hang together.
type site struct {
	pages   map[string]*page // by path
	nav     []part
	line    []item // all pages in the order of the navigation
	console string
}

// part is a part of the navigation: a heading of docs/README.md, with what its table links to.
type part struct {
	Title string
	Items []item
}

// item is a page of the navigation, or a file elsewhere.
type item struct {
	Title, Href string
	Here        bool
}

// Out reports whether it leads to another site.
func (i item) Out() bool { return leaves(i.Href) }

// view is what the frame shows.
type view struct {
	Title, About, Root, Console, Source string
	Nav                                 []part
	Contents                            []item // headings of this page
	Before, Behind                      *item
}

// order reads the navigation off the page that lists all pages.
func (s *site) order() error {
	index := s.pages["README.md"]
	if index == nil {
		return errors.New("there is no README.md")
	}
	in := false // a table: what stands in sentences is no list
	err := ast.Walk(index.tree, func(n ast.Node, enters bool) (ast.WalkStatus, error) {
		switch n := n.(type) {
		case *east.Table:
			in = enters
		case *ast.Heading:
			if enters && n.Level == 2 {
				s.nav = append(s.nav, part{Title: index.text(n)})
			}
		case *ast.Link:
			if enters && in && len(s.nav) > 0 {
				last := &s.nav[len(s.nav)-1]
				last.Items = append(last.Items, item{Title: index.text(n), Href: string(n.Destination)})
			}
		}
		return ast.WalkContinue, nil
	})
	s.nav = slices.DeleteFunc(s.nav, func(p part) bool { return len(p.Items) == 0 })
	for _, p := range s.nav {
		for _, i := range p.Items {
			if strings.HasSuffix(i.Href, ".html") {
				s.line = append(s.line, i)
			}
		}
	}
	return err
}

// render is a page in its frame.
func (s *site) render(p *page) ([]byte, error) {
	var body bytes.Buffer
	if err := markdown.Renderer().Render(&body, p.source, p.tree); err != nil {
		return nil, err
	}
	v := view{Title: p.title, About: p.about, Root: root(p.href), Console: s.console, Source: repository + "docs/" + p.path,
		Nav: s.navOf(p.href)}
	for _, at := range p.sections {
		if at.level == 2 {
			v.Contents = append(v.Contents, item{Title: at.title, Href: "#" + at.id})
		}
	}
	if i := slices.IndexFunc(s.line, func(i item) bool { return i.Href == p.href }); i >= 0 {
		if i > 0 {
			v.Before = &s.line[i-1]
		}
		if i+1 < len(s.line) {
			v.Behind = &s.line[i+1]
		}
	}
	return v.draw(mended(body.String()))
}

// draw puts HTML into the frame, as it is: it is ours.
func (v *view) draw(body string) ([]byte, error) {
	var b bytes.Buffer
	err := frame.ExecuteTemplate(&b, "head", v)
	b.WriteString(body)
	err = errors.Join(err, frame.ExecuteTemplate(&b, "foot", v))
	return b.Bytes(), err
}

// navOf is the navigation as a page shows it.
func (s *site) navOf(href string) (nav []part) {
	for _, p := range s.nav {
		items := slices.Clone(p.Items)
		for i := range items {
			items[i].Here = items[i].Href == href
			if !items[i].Out() {
				items[i].Href = root(href) + items[i].Href
			}
		}
		nav = append(nav, part{p.Title, items})
	}
	return nav
}

var corner = regexp.MustCompile(`<th( align="\w+")?></th>`)

var subheading = regexp.MustCompile(`(?s)(<h[2-4] id="([^"]+)">.*?)(</h[2-4]>)`)

// mended is what Markdown became, with links at headings, tables that scroll by themselves, and boxes to tick.
func mended(body string) string {
	body = subheading.ReplaceAllString(body, `$1 <a class="anchor" href="#$2" aria-hidden="true" tabindex="-1">#</a>$3`)
	body = corner.ReplaceAllString(body, "<td></td>") // a head that says nothing is none
	return strings.NewReplacer("<table>", `<div class="scroll" tabindex="0"><table>`, "</table>", "</table></div>", "<li>[ ] ", "<li>☐ ").Replace(body)
}

// more adds what is no page of the documentation: how pages look and are found, and what stands for those that are not
// there.
func (s *site) more(to map[string]file) error {
	script, err := assets.ReadFile("assets/site.js")
	if err != nil {
		return err
	}
	style, err := assets.ReadFile("assets/site.css")
	if err != nil {
		return err
	}
	index, err := json.Marshal(s.index())
	if err != nil {
		return err
	}
	gone := view{Title: "There is no such page", Root: Base, Console: s.console, Nav: s.navOf("")}
	for i := range gone.Nav {
		for j, at := range gone.Nav[i].Items {
			if !at.Out() {
				gone.Nav[i].Items[j].Href = Base + at.Href
			}
		}
	}
	lost, err := gone.draw("<h1>There is no such page</h1><p>It may have another name now: search for it, or look at the contents.</p>")
	for name, body := range map[string][]byte{
		"site.css": slices.Concat(ui.Asset("ui.css"), style), "site.js": script, "icon.svg": ui.Asset("icon.svg"),
		"search.json": index, notFound: lost,
	} {
		to[name] = newFile(name, body)
	}
	return err
}

// found is a section in the index: its address, its page, its heading, how it begins, and its words.
type found [5]string

var word = regexp.MustCompile(`[\p{L}\p{N}_]+`)

// mostBegin is how much of a section a result shows.
const mostBegin = 140

// index lists the sections of all pages, in their order.
func (s *site) index() (all []found) {
	for _, path := range slices.Sorted(maps.Keys(s.pages)) {
		p := s.pages[path]
		for _, at := range p.sections {
			begin := strings.Join(strings.Fields(at.text), " ")
			words := map[string]bool{}
			for _, w := range word.FindAllString(strings.ToLower(begin), -1) {
				words[w] = len(w) > 1
			}
			maps.DeleteFunc(words, func(_ string, long bool) bool { return !long })
			if r := []rune(begin); len(r) > mostBegin {
				begin = string(r[:mostBegin]) + "…"
			}
			href := p.href
			if at.level > 1 {
				href += "#" + at.id
			}
			all = append(all, found{href, p.title, at.title, begin, strings.Join(slices.Sorted(maps.Keys(words)), " ")})
		}
	}
	return all
}
