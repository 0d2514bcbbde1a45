package browser

// The documentation as the server has it, in a real browser.

import (
	"context"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/stepwell/stepwell/server"
)

func TestDocsInABrowser(t *testing.T) {
	s := newSite(t, server.Options{})
	chromium := browser(t)
	t.Run("search", func(t *testing.T) { s.searchesDocs(t, chromium) })
	t.Run("colours", func(t *testing.T) { s.docsInBothColours(t, chromium) })
	t.Run("phone", func(t *testing.T) { s.docsOnAPhone(t, chromium) })
	t.Run("without scripts", func(t *testing.T) { s.docsWithoutScripts(t, chromium) })
}

// searchesDocs comes from the web UI, and finds a section with the keyboard alone.
func (s *site) searchesDocs(t *testing.T, chromium context.Context) {
	b := s.tab(t, chromium)
	b.open("/ui/")
	b.press(`footer a[href="/docs/"]`)
	b.untilText("Getting started")
	b.keep("docs")
	b.do(chromedp.KeyEvent(kb.Tab))
	if got := is[string](b, `document.activeElement.className`); got != "skip" {
		t.Errorf("the first stop is %q, want the way past the head", got)
	}
	b.do(chromedp.KeyEvent("/"))
	b.until("the field that finds", `document.activeElement.id === "find"`)
	b.do(chromedp.KeyEvent(kb.Backspace)) // the driver sends the character of a key that was taken, too
	b.do(chromedp.KeyEvent("idempotent twice"))
	b.until("results", `!document.querySelector("#found").hidden && document.querySelectorAll("#found a").length > 0`)
	b.keep("docs-search")
	if got := is[string](b, `document.querySelector("#found a").href`); !strings.Contains(got, "/docs/rules.html#2-") {
		t.Errorf("the first result is %s, want the rule that says so", got)
	}
	b.do(chromedp.KeyEvent(kb.ArrowDown), chromedp.KeyEvent(kb.Enter))
	b.until("the section", `location.pathname === "/docs/rules.html" && location.hash.startsWith("#2-") && document.readyState === "complete"`)
	b.do(chromedp.KeyEvent("/"))
	b.until("the field that finds", `document.activeElement.id === "find"`)
	b.do(chromedp.KeyEvent(kb.Backspace), chromedp.KeyEvent("zxzx"))
	b.until("that there is nothing", `document.querySelector("#found p").textContent.startsWith("Nothing")`)
	b.do(chromedp.KeyEvent(kb.Escape))
	b.until("the results to be gone", `document.querySelector("#found").hidden`)
	if got := is[string](b, `document.querySelector("#contents [aria-current]").textContent`); got != "The rules of workflows" {
		t.Errorf("the contents say that this is %q", got)
	}
}

// docsInBothColours looks at text and pictures in both, by the system's wish and by the switch.
func (s *site) docsInBothColours(t *testing.T, chromium context.Context) {
	b := s.tab(t, chromium)
	for _, scheme := range []string{"light", "dark"} {
		b.dark(scheme)
		for _, path := range []string{"/docs/", "/docs/getting-started.html", "/docs/cookbook.html", "/docs/ui.html"} {
			b.open(path)
			b.until("the pictures", `[...document.images].every((i) => i.complete && i.naturalWidth > 0)`)
			if got := b.background(); (got < 60) != (scheme == "dark") {
				t.Errorf("%s: background %v in %s", path, got, scheme)
			}
			for _, fault := range is[[]string](b, contrast) {
				t.Errorf("%s %s: %s", scheme, path, fault)
			}
		}
		if got := is[string](b, `document.querySelector("picture img").currentSrc`); !strings.HasSuffix(got, scheme+".png") {
			t.Errorf("in %s the picture is %s", scheme, got)
		}
		b.keep("docs-ui-" + scheme)
	}
	b.open("/docs/ui.html") // the system is dark
	for _, want := range []string{"dark", "light", ""} {
		b.do(chromedp.Click(chromedp.CSS("button.theme")))
		picture := "dark"
		if want == "light" {
			picture = want
		}
		b.until("the theme "+want, `(document.documentElement.dataset.theme || "") === "`+want+`" && document.querySelector("picture img").currentSrc.endsWith("`+picture+`.png")`)
		if got := b.background(); (got < 60) != (picture == "dark") {
			t.Errorf("theme %q: background %v", want, got)
		}
		if want == "light" {
			b.open("/docs/") // it is kept
			if got := b.background(); got < 200 {
				t.Errorf("the next page is dark again: %v", got)
			}
			b.keep("docs-light-in-a-dark-system")
			b.open("/docs/ui.html")
		}
	}
}

// docsOnAPhone looks at every page at 390 pixels: nothing sticks out, and the contents are at hand.
func (s *site) docsOnAPhone(t *testing.T, chromium context.Context) {
	b := s.tab(t, chromium)
	b.do(chromedp.EmulateViewport(390, 844, chromedp.EmulateMobile))
	b.open("/docs/")
	pages := is[[]string](b, `[...document.querySelectorAll("#contents a")].map((a) => a.pathname).filter((p) => p.endsWith(".html"))`)
	if len(pages) < 40 {
		t.Fatalf("got %d pages, want those of the contents", len(pages))
	}
	for _, path := range pages {
		b.open(path)
		if got := is[float64](b, `document.documentElement.scrollWidth`); got > 390 {
			t.Errorf("%s is %v pixels wide; what sticks out: %s", path, got,
				is[string](b, `[...document.querySelectorAll("main *")].filter(e => e.getBoundingClientRect().right > 391 && !e.closest("pre, .scroll")).map(e => e.tagName + "." + e.className).slice(0, 8).join(" ")`))
		}
	}
	b.open("/docs/undo.html")
	b.keep("phone-docs")
	b.do(chromedp.Click(chromedp.CSS("button.contents")))
	b.until("the contents", `document.querySelector("#contents").matches(":popover-open") && document.querySelector("#contents a").getBoundingClientRect().width > 100`)
	b.press(`#contents a[href="waiting.html"]`)
	b.until("the page", `location.pathname === "/docs/waiting.html"`)
}

// docsWithoutScripts reads on without them.
func (s *site) docsWithoutScripts(t *testing.T, chromium context.Context) {
	b := s.tab(t, chromium)
	b.do(chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true})
		return err
	}))
	b.open("/docs/")
	if is[bool](b, `document.querySelector(".find").checkVisibility()`) {
		t.Error("the search is shown, and does nothing")
	}
	b.press(`main a[href="getting-started.html"]`)
	b.press(`a[rel="next"]`)
	b.untilText("Tutorial 1")
	b.press(`#contents a[href="../undo.html"]`)
	b.untilText("Undo")
}
