package site

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"golang.org/x/net/html"

	"github.com/stepwell/stepwell/docs"
)

// made is the site as files, below a path like /docs/ or any other.
func made(t *testing.T) map[string]file {
	t.Helper()
	files, err := build(docs.Files, "", nil)
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// seen is what a file of HTML has.
type seen struct {
	ids   map[string]int
	links []string // whatever it loads or leads to
	mute  []string // of these, what leads to another site and does not say so, or says so and does not
}

func read(t *testing.T, body []byte) seen {
	t.Helper()
	doc, err := html.Parse(strings.NewReader(string(body)))
	if err != nil {
		t.Fatal(err)
	}
	s := seen{ids: map[string]int{}}
	for n := range doc.Descendants() {
		class, href := "", ""
		for _, a := range n.Attr {
			switch a.Key {
			case "id":
				s.ids[a.Val]++
			case "href", "src", "srcset":
				s.links = append(s.links, a.Val)
				href = a.Val
			case "class":
				class = a.Val
			}
		}
		if n.Data == "a" && strings.Contains(href, ":") != (class == "out") {
			s.mute = append(s.mute, href)
		}
	}
	return s
}

// TestLinks: whatever a page of the site links to, shows or loads is in the site, and so is the heading that it names;
// what leaves it is encrypted, and looks so: it needs the network. No name is there twice.
func TestLinks(t *testing.T) {
	t.Parallel()
	files, pages, n := made(t), map[string]seen{}, 0
	for name, f := range files {
		if path.Ext(name) == ".html" && name != notFound {
			pages[name] = read(t, f.body)
		}
	}
	for name, page := range pages {
		for id, times := range page.ids {
			if times > 1 {
				t.Errorf("%s: the name %q is there %d times", name, id, times)
			}
		}
		if len(page.mute) > 0 {
			t.Errorf("%s: these lead to another site and do not look so, or the other way round: %q", name, page.mute)
		}
		for _, link := range page.links {
			to, err := url.Parse(link)
			if err != nil || to.Scheme != "" && to.Scheme != "https" && to.Host != "127.0.0.1:7373" && to.Scheme != "mailto" {
				t.Errorf("%s links to %q, %v", name, link, err)
				continue
			}
			if to.Host != "" || to.Scheme != "" {
				continue
			}
			n++
			at := name
			if to.Path != "" {
				at = path.Join(path.Dir(name), to.Path)
			}
			if _, ok := files[at]; !ok || path.IsAbs(to.Path) {
				t.Errorf("%s links to %q: there is no %s", name, link, at)
			} else if to.Fragment != "" && pages[at].ids[to.Fragment] == 0 {
				t.Errorf("%s links to %q: %s has no such heading", name, link, at)
			}
		}
	}
	if n < 3000 {
		t.Errorf("got %d links, want those of the documentation", n)
	}
	for _, link := range read(t, files[notFound].body).links {
		at, ours := strings.CutPrefix(link, Base)
		if _, ok := files[at]; !strings.Contains(link, "://") && (!ours || !ok) && link != "#main" {
			t.Errorf("the page for what is not there links to %q", link)
		}
	}
}

// TestEveryPageIsInTheSite, in the navigation, and in the index of the search; llms.txt leads to sources of pages.
func TestEveryPageIsInTheSite(t *testing.T) {
	t.Parallel()
	files := made(t)
	var index []found
	if err := json.Unmarshal(files["search.json"].body, &index); err != nil {
		t.Fatal(err)
	}
	pages, in := map[string]bool{}, map[string]bool{}
	for _, at := range index {
		href, _, _ := strings.Cut(at[0], "#")
		if _, ok := files[href]; !ok || at[1] == "" || at[2] == "" {
			t.Errorf("the search leads to %q", at)
		}
		in[href] = true
	}
	nav := read(t, files["index.html"].body).links
	for name := range files {
		if path.Ext(name) != ".md" {
			continue
		}
		href := hrefOf(name)
		pages[href] = true
		if _, ok := files[href]; !ok || !in[href] || !slices.Contains(nav, href) {
			t.Errorf("%s: in the site %t, in the search %t, in the navigation %t", name, ok, in[href], slices.Contains(nav, href))
		}
	}
	if len(pages) < 40 || len(in) != len(pages) {
		t.Errorf("got %d pages and %d that can be found", len(pages), len(in))
	}
	if n := len(files["search.json"].body); n > 600<<10 {
		t.Errorf("the index of the search has %d KiB", n>>10)
	}
	for _, m := range linked.FindAllString(string(files["llms.txt"].body), -1) {
		_, to, _ := strings.Cut(strings.TrimSuffix(m, ")"), "](")
		if _, ok := files[to]; !ok {
			t.Errorf("llms.txt names %s, which is not there", to)
		}
	}
}

// TestPage: what is Markdown's becomes HTML as on GitHub, and what is for tests is left out.
func TestPage(t *testing.T) {
	t.Parallel()
	text := "---\nname: x\n---\n# A `page`: [one](two.md)…\n\nSee [it](sub/b.md#x), [code](../a.go), ![p](p.svg).\n\n<!--go\ntype T int\n-->\n\n" +
		"## Same\n\n## Same\n\n```go\nfunc f() { return \"<\" } // b\n```\n\n```console\n$ ls a\nb\n```\n\n| | b |\n| --- | ---: |\n| 1 | 2 |\n\n- [ ] do <!-- no -->it\n"
	s := &site{pages: map[string]*page{}}
	p := newPage("sub/a.md", []byte(text))
	body, err := s.render(p)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`<h1 id="a-page-one">`, `href="../sub/sub/b.html#x"`, `href="https://github.com/stepwell/stepwell/blob/main/docs/a.go"`, `src="p.svg"`, `id="same"`, `id="same-1"`,
		`<span class="k">func</span> f() { <span class="k">return</span> <span class="s">&#34;&lt;&#34;</span> } <span class="c">// b</span>`,
		`<span class="k">$ </span><b>ls a` + "\n</b>b\n", "<tr>\n<td></td>\n<th align=\"right\">b</th>", `<td align="right">2</td>`, `☐ do it`, `<link rel="stylesheet" href="../site.css">`, `<title>A page: one… · Stepwell</title>`,
	} {
		if !strings.Contains(string(body), want) {
			t.Errorf("no %s in\n%s", want, body)
		}
	}
	for _, no := range []string{"type T int", "name: x", "<!--", "style="} {
		if strings.Contains(string(body), no) {
			t.Errorf("it has %s", no)
		}
	}
}

// TestCommandsAndData: the page of the command line has the reference of the program's commands, and a page has the table
// that it links to.
func TestCommandsAndData(t *testing.T) {
	t.Parallel()
	from := fstest.MapFS{
		"README.md": {Data: []byte("# Index\n\n## All\n\n| page |\n| --- |\n| [a](a.md) |\n")}, "cli.md": {Data: []byte("# Commands\n")},
		"a.md": {Data: []byte("# A\n\n[All](data/b.tsv)\n\nSee [all](data/b.tsv), and what follows the table.\n")}, "data/b.tsv": {Data: []byte("name\tmany\na|b\t1,000 <s\nc\t\n")},
	}
	files, err := build(from, "", func() string { return "## do\n\nIt does.\n" })
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"cli.html": `id="do"`, "cli.md": "## do", "search.json": "cli.html#do", "data/b.tsv": "a|b",
		"a.html": "<th align=\"right\">many</th>\n</tr>\n</thead>\n<tbody>\n<tr>\n<td>a|b</td>\n<td align=\"right\">1,000 &lt;s</td>\n</tr>\n<tr>\n<td>c</td>"} {
		if !strings.Contains(string(files[name].body), want) {
			t.Errorf("%s has no %s:\n%s", name, want, files[name].body)
		}
	}
	if a := string(files["a.html"].body); strings.Count(a, "<table>") != 1 || !strings.Contains(a, "and what follows the table.</p>") {
		t.Errorf("want one table, and the page below it:\n%s", a)
	}
	delete(from, "data/b.tsv")
	if _, err := build(from, "", nil); err == nil || !strings.Contains(err.Error(), "a.md") {
		t.Errorf("a table is missing: got %v", err)
	}
}

// TestHandler: what is asked for again is not sent again.
func TestHandler(t *testing.T) {
	t.Parallel()
	do := func(method, path, etag string) *http.Response {
		r := httptest.NewRequestWithContext(t.Context(), method, path, nil)
		r.Header.Set("If-None-Match", etag)
		w := httptest.NewRecorder()
		Handler().ServeHTTP(w, r)
		return w.Result()
	}
	size := func(r *http.Response) int64 {
		n, err := io.Copy(io.Discard, r.Body)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	for path, media := range map[string]string{
		"/docs/": "text/html; charset=utf-8", "/docs/undo.html": "text/html; charset=utf-8", "/docs/site.css": "text/css; charset=utf-8",
		"/docs/llms.txt": "text/plain; charset=utf-8", "/docs/undo.md": "text/markdown; charset=utf-8", "/docs/pictures/run.svg": "image/svg+xml",
	} {
		r := do(http.MethodGet, path, "")
		etag := r.Header.Get("ETag")
		if got := size(r); r.StatusCode != 200 || got == 0 || etag == "" || r.Header.Get("Content-Type") != media || r.Header.Get("Cache-Control") != "no-cache" {
			t.Errorf("%s: got %d, %d bytes, %v", path, r.StatusCode, got, r.Header)
		}
		if head := do(http.MethodHead, path, ""); head.StatusCode != 200 || size(head) != 0 || head.Header.Get("Content-Length") != r.Header.Get("Content-Length") {
			t.Errorf("HEAD %s: got %d, %v", path, head.StatusCode, head.Header)
		}
		if again := do(http.MethodGet, path, etag); again.StatusCode != http.StatusNotModified || size(again) != 0 {
			t.Errorf("%s again: got %d", path, again.StatusCode)
		}
	}
	for _, path := range []string{"/docs/none.html", "/docs/a/b", "/docs/docs_test.go", "/docs/pictures/", "/docs/undo.html/"} {
		if r := do(http.MethodGet, path, ""); r.StatusCode != http.StatusNotFound || size(r) == 0 {
			t.Errorf("%s: got %d, want 404 and a page", path, r.StatusCode)
		}
	}
}

// TestFiles: what any web server can have is the site of this one, but for what links to its web UI.
func TestFiles(t *testing.T) {
	t.Parallel()
	files, err := Files()
	if err != nil {
		t.Fatal(err)
	}
	for name, f := range served() {
		if f.media == "" {
			t.Errorf("%s: nobody knows what it is", name)
		}
		if body, ok := files[name]; ok == (name == notFound) || len(body) > len(f.body) {
			t.Errorf("%s: got %t, %d bytes, want %d", name, ok, len(body), len(f.body))
		}
	}
	if strings.Contains(string(files["index.html"]), consolePath) || !strings.Contains(string(served()["index.html"].body), consolePath) {
		t.Error("the web UI is linked where it is not, or not where it is")
	}
}
