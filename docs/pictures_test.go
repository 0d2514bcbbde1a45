package docs_test

// Pictures are shown by a page, say in words what they show, and those that are drawn from a source are drawn from the
// source of today. Nothing is drawn here: make docs does.

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	picture       = regexp.MustCompile(`!\[([^\]]*)\]\(([^)\s]+)\)`)
	pictureTag    = regexp.MustCompile(`(?s)<img\s([^>]*)>`)
	pictureSource = regexp.MustCompile(`<source\s[^>]*srcset="([^"]+)"`)
	attribute     = regexp.MustCompile(`(alt|src)="([^"]*)"`)
)

// shown are the pictures of a page by what they are found under, with the words for who cannot see them.
func shown(page, text string) map[string]string {
	text = fence.ReplaceAllString(hidden.ReplaceAllString(text, ""), "")
	found := map[string]string{}
	add := func(at, alt string) {
		if !strings.Contains(at, "://") {
			found[path.Join(path.Dir(page), at)] = strings.TrimSpace(alt)
		}
	}
	for _, m := range picture.FindAllStringSubmatch(text, -1) {
		add(m[2], m[1])
	}
	for _, m := range pictureSource.FindAllStringSubmatch(text, -1) {
		add(m[1], "as the img beside it")
	}
	for _, m := range pictureTag.FindAllStringSubmatch(text, -1) {
		has := map[string]string{}
		for _, a := range attribute.FindAllStringSubmatch(m[1], -1) {
			has[a[1]] = a[2]
		}
		add(has["src"], has["alt"])
	}
	return found
}

func TestPictures(t *testing.T) {
	t.Parallel()
	used := map[string]bool{}
	for _, page := range pages(t) {
		for at, alt := range shown(page, read(t, page)) {
			used[at] = true
			if _, err := os.Stat(filepath.Join(root, filepath.FromSlash(at))); err != nil {
				t.Errorf("%s shows %s, which is not there", page, at)
			}
			if len(alt) < 10 {
				t.Errorf("%s shows %s with the words %q: say what it shows", page, at, alt)
			}
		}
	}
	style := read(t, "docs/pictures/style.d2") + read(t, "docs/pictures/style.css")
	drawn, total := 0, int64(0)
	files, err := os.ReadDir("pictures")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		name, at := file.Name(), "docs/pictures/"+file.Name()
		info, err := file.Info()
		if err != nil {
			t.Fatal(err)
		}
		total += info.Size()
		switch kind := path.Ext(name); {
		case name == "style.d2", name == "style.css":
			continue
		case kind == ".d2", kind == ".txt":
			drawn++
			svg := read(t, strings.TrimSuffix(at, kind)+".svg")
			sum := sha256.Sum256([]byte(style + read(t, at)))
			if !strings.HasPrefix(svg, fmt.Sprintf("<!-- source %x -->\n", sum)) {
				t.Errorf("%s was changed since it was drawn: run make docs", at)
			}
			continue
		case kind == ".svg":
			stem := strings.TrimSuffix(name, kind)
			if found, _ := filepath.Glob("pictures/" + stem + ".*[2t]"); len(found) != 1 { // .d2 or .txt
				t.Errorf("%s has the sources %q, want one", at, found)
			}
		case kind != ".png":
			t.Errorf("%s: want .d2, .txt, .svg or .png", at)
		case info.Size() > 150<<10:
			t.Errorf("%s has %d KiB, want at most 150", at, info.Size()>>10)
		}
		if !used[at] {
			t.Errorf("no page shows %s", at)
		}
	}
	if drawn == 0 || total > 2<<20 {
		t.Errorf("got %d diagrams, and %d KiB in all: want some, and at most 2 MiB", drawn, total>>10)
	}
}

// TestShown keeps the reader honest.
func TestShown(t *testing.T) {
	t.Parallel()
	got := shown("docs/a.md", "![one two](p/1.svg) <picture>\n<source media=\"x\" srcset=\"p/2.png\">\n"+
		"<img alt=\"three\"\n src=\"../3.png\"></picture> ![](p/4.svg)\n<!-- ![no](no.svg) -->\n"+
		"```\n![no](no.svg)\n```\n![far](https://example.com/x.svg)")
	want := map[string]string{
		"docs/p/1.svg": "one two", "docs/p/2.png": "as the img beside it", "3.png": "three", "docs/p/4.svg": "",
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
