package site

// This file reads a page: its Markdown as a tree, with the links, headings and sections that the site needs.

import (
	"bytes"
	"fmt"
	"path"
	"regexp"
	"strings"
	"unicode"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	east "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/renderer/html"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// repository is where links lead that leave the documentation.
const repository = "https://github.com/stepwell/stepwell/blob/main/"

// markdown is what the pages are written in: with tables, whose cells need no styles of their own, and with HTML, which
// is ours.
var markdown = goldmark.New(
	goldmark.WithExtensions(extension.NewTable(extension.WithTableCellAlignMethod(extension.TableCellAlignAttribute))),
	goldmark.WithParserOptions(parser.WithAutoHeadingID()),
	goldmark.WithRendererOptions(html.WithUnsafe(), renderer.WithNodeRenderers(util.Prioritized(coder{}, 100))),
)

// page is one page of the documentation.
type page struct {
	path     string // below docs/
	href     string // below the site
	source   []byte
	tree     ast.Node
	title    string
	about    string // its first paragraph
	sections []*section
}

// section is a heading with what stands below it.
type section struct {
	level           int
	id, title, text string
}

// hrefOf is where the site has a page.
func hrefOf(name string) string {
	if path.Base(name) == "README.md" {
		return path.Join(path.Dir(name), "index.html")
	}
	return strings.TrimSuffix(name, ".md") + ".html"
}

// newPage reads a page. What stands in comments is for tests, and is left out.
func newPage(name string, source []byte) *page {
	p := &page{path: name, href: hrefOf(name), source: source}
	if head, body, found := bytes.Cut(source, []byte("\n---\n")); found && bytes.HasPrefix(head, []byte("---\n")) {
		p.source = body // behind what it says to programs
	}
	p.tree = markdown.Parser().Parse(text.NewReader(p.source), parser.WithContext(parser.NewContext(parser.WithIDs(ids{}))))
	var comments []ast.Node
	now, named := &section{}, map[string]bool{}
	_ = ast.Walk(p.tree, func(n ast.Node, enters bool) (ast.WalkStatus, error) { // it returns no error of its own
		if !enters {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Heading:
			id, _ := n.AttributeString("id")
			now = &section{level: n.Level, id: fmt.Sprintf("%s", id), title: p.text(n)}
			p.sections = append(p.sections, now)
			if n.Level == 1 && p.title == "" {
				p.title = now.title
			}
			p.link(n)
			return ast.WalkSkipChildren, nil
		case *ast.HTMLBlock, *ast.RawHTML:
			if bytes.HasPrefix(p.raw(n), []byte("<!--")) {
				comments = append(comments, n)
			}
		case *ast.Link:
			p.lead(n)
		case *ast.AutoLink:
			n.SetAttributeString("class", []byte("out"))
		case *ast.CodeSpan:
			if name := p.text(n); codeName.MatchString(name) && !named[name] && inFirstCell(n) {
				named[name] = true
				n.SetAttributeString("id", []byte(name))
			}
		case *ast.Text, *ast.String, *ast.CodeBlock, *ast.FencedCodeBlock:
			now.text += p.text(n) + " "
		case *ast.Paragraph:
			if p.about == "" {
				p.about = strings.Join(strings.Fields(p.text(n)), " ")
			}
		}
		return ast.WalkContinue, nil
	})
	for _, n := range comments {
		n.Parent().RemoveChild(n.Parent(), n)
	}
	return p
}

// codeName is a code of the API, or another of its kind: where a table explains it, one can link to it by its name.
// Names of headings have small letters.
var codeName = regexp.MustCompile(`^[A-Z][A-Z0-9_]+$`)

// inFirstCell reports whether a node stands in the first cell of a row.
func inFirstCell(n ast.Node) bool {
	cell, ok := n.Parent().(*east.TableCell)
	return ok && cell.PreviousSibling() == nil && cell.Parent().Kind() == east.KindTableRow
}

// link gives the links of a heading their targets.
func (p *page) link(n ast.Node) {
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		if l, ok := c.(*ast.Link); ok {
			p.lead(l)
		}
	}
}

// lead gives a link its target. One that needs the network says so: the server has the site offline.
func (p *page) lead(l *ast.Link) {
	l.Destination = p.resolve(l.Destination)
	if leaves(string(l.Destination)) {
		l.SetAttributeString("class", []byte("out"))
	}
}

// leaves reports whether a link leads to another site.
func leaves(href string) bool { return strings.Contains(href, ":") }

// resolve is where the site has what a page links to.
func (p *page) resolve(target []byte) []byte {
	to, anchor, named := strings.Cut(string(target), "#")
	if to == "" || strings.Contains(to, ":") {
		return target
	}
	to = path.Join("docs", path.Dir(p.path), to)
	inside, ok := strings.CutPrefix(to, "docs/")
	switch {
	case !ok, media[path.Ext(inside)] == "": // it is code
		to = repository + to
	case path.Ext(inside) == ".md":
		to = root(p.href) + hrefOf(inside)
	default:
		to = root(p.href) + inside
	}
	if named {
		to += "#" + anchor
	}
	return []byte(to)
}

// root is the way from a file of the site up to its top.
func root(href string) string { return strings.Repeat("../", strings.Count(href, "/")) }

// raw is HTML as a page has it.
func (p *page) raw(n ast.Node) []byte {
	if n, ok := n.(*ast.RawHTML); ok {
		return n.Segments.Value(p.source)
	}
	return n.Lines().Value(p.source)
}

// text is what a reader sees of a node.
func (p *page) text(n ast.Node) string {
	switch n := n.(type) {
	case *ast.Text:
		s := string(n.Segment.Value(p.source))
		if n.SoftLineBreak() || n.HardLineBreak() {
			s += " "
		}
		return s
	case *ast.String:
		return string(n.Value)
	case *ast.CodeBlock, *ast.FencedCodeBlock:
		return string(n.Lines().Value(p.source))
	}
	var b strings.Builder
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		b.WriteString(p.text(c))
	}
	return b.String()
}

// ids names headings as GitHub does: a page may have links to them that work there.
type ids map[string]bool

// Generate names a heading by its text, as Markdown has it.
func (all ids) Generate(value []byte, _ ast.NodeKind) []byte {
	slug := strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case r == '-', r == '_', unicode.IsLetter(r), unicode.IsDigit(r):
			return unicode.ToLower(r)
		}
		return -1
	}, plain(string(value)))
	name := slug
	for n := 1; all[name]; n++ {
		name = fmt.Sprintf("%s-%d", slug, n)
	}
	all[name] = true
	return []byte(name)
}

var linked = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)

// plain is a heading without its links.
func plain(markdown string) string { return linked.ReplaceAllString(strings.TrimSpace(markdown), "$1") }

// Put notes a name that a heading has already.
func (all ids) Put(value []byte) { all[string(value)] = true }
