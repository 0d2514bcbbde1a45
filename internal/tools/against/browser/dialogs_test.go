package browser

// What asks first does so over the page, in a browser.

import (
	"context"
	"testing"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/internal/uitest"
)

// asksInDialogs pauses and cancels a run, and acts on many, without leaving the page to be asked.
func (s *site) asksInDialogs(t *testing.T, chromium context.Context) {
	s.Start("dia-1", uitest.Order{Customer: "dia", Cents: 100})
	s.Until("dia-1", stepwell.WhyEvent)
	b := s.tab(t, chromium)
	b.open("/ui/runs/dia-1")
	is[bool](b, `window.stays = true`)
	b.do(chromedp.Click(chromedp.CSS(`#acts a[href$="act/cancel"]`)))
	b.until("the dialog", `document.querySelector("dialog[open]")?.innerText.includes("Cancel this run?") && window.stays`)
	b.keep("dialog-cancel")
	b.do(chromedp.KeyEvent(kb.Escape))
	b.until("it to be closed, and the focus where it was", `!document.querySelector("dialog") && document.activeElement.textContent === "Cancel…"`)
	b.do(chromedp.Click(chromedp.CSS(`#acts a[href$="act/cancel"]`)))
	b.until("the dialog", `document.querySelector("dialog[open] .buttons a")`)
	b.do(chromedp.Click(chromedp.CSS(`dialog .buttons a`))) // not now
	b.until("it to be closed", `!document.querySelector("dialog") && window.stays`)
	b.do(chromedp.Click(chromedp.CSS(`#acts a[href$="act/pause"]`)))
	b.until("the dialog", `document.querySelector("dialog[open] #f-reason")`)
	b.do(chromedp.SendKeys(chromedp.CSS("dialog #f-reason"), "lunch"))
	b.press("dialog .act button")
	b.untilText("lunch")

	b.open("/ui/runs?search=dia-1")
	b.do(chromedp.Click(chromedp.CSS(`input[name=run][value="dia-1"]`)))
	b.do(chromedp.Click(chromedp.CSS("#bulk button:not([name])")))
	b.until("the dialog", `document.querySelector("dialog[open]")?.innerText.includes("Cancel 1 run?")`)
	b.keep("dialog-bulk")
	b.press("dialog .act button")
	b.untilText("Done: 1")

	b.open("/ui/failures")
	b.do(chromedp.Click(chromedp.CSS(`.do button[value=retry]`)))
	b.until("the dialog", `document.querySelector("dialog[open]")?.innerText.includes("Nothing has changed yet")`)
	b.keep("dialog-failures")
	is[bool](b, `window.asked = document.querySelector("dialog[open] h1, dialog[open] h2").innerText.match(/[0-9]+/)[0], true`)
	b.until("all runs of the cause are meant", `document.querySelector("dialog[open]").innerText.includes("all runs with this cause")`)
	asked := is[string](b, `window.asked`)
	b.press("dialog .act button")
	b.untilText("Done: " + asked)
}

// zooms marks a stretch on the axis with the mouse, and comes back.
func (s *site) zooms(t *testing.T, chromium context.Context) {
	s.Start("zoom-1", uitest.Order{Customer: "zoom", Cents: 100, Items: []string{"lamp"}})
	s.Until("zoom-1", stepwell.WhyEvent)
	b := s.tab(t, chromium)
	b.open("/ui/runs/zoom-1?scale=true")
	type box struct{ X, Y, W float64 }
	at := is[box](b, `(() => { const r = document.querySelector(".timeline[data-linear] th.axis .ticks").getBoundingClientRect(); return {X: r.left, Y: r.top + 6, W: r.width} })()`)
	is[bool](b, `document.documentElement.dataset.before = "yes", true`)
	b.do(chromedp.MouseEvent(input.DispatchMouseEventTypeMousePressed, at.X+at.W*0.25, at.Y, chromedp.ButtonLeft, chromedp.ClickCount(1)),
		chromedp.MouseEvent(input.DispatchMouseEventTypeMouseMoved, at.X+at.W*0.5, at.Y, chromedp.ButtonLeft),
		chromedp.MouseEvent(input.DispatchMouseEventTypeMouseReleased, at.X+at.W*0.75, at.Y, chromedp.ButtonLeft, chromedp.ClickCount(1)))
	b.until("the stretch", `document.readyState === "complete" && /zoom=\d+-\d+/.test(location.search)`)
	b.untilText("after it was created")
	b.keep("zoom")
	b.press(`.zoom a[href="/ui/runs/zoom-1?scale=true"]`)
}
