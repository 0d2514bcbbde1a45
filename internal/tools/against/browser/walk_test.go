package browser

// Each page at the widths of a desk and of a phone, by day and by night: nothing sticks out, all can be read, and each
// field has a name.

import (
	"context"
	"testing"

	"github.com/chromedp/chromedp"
)

// walked are the pages, and what they show.
var walked = map[string]string{
	"overview": "/ui/", "runs": "/ui/runs", "runs-none": "/ui/runs?workflow=none", "run": "/ui/runs/o-1", "blocked": "/ui/runs/imp-1", "hostile": "/ui/runs/bad-1",
	"family": "/ui/runs/o-1/family", "events": "/ui/runs/o-1/events", "event": "/ui/runs/o-1/events/1", "hostile-events": "/ui/runs/bad-1/events",
	"signal": "/ui/runs/o-1/act/signal", "hook": "/ui/runs/o-1/act/hook", "cancel": "/ui/runs/o-1/act/cancel", "pause": "/ui/runs/o-1/act/pause",
	"restart": "/ui/runs/o-1/act/restart", "fork": "/ui/runs/o-1/act/fork?at=5", "start": "/ui/workflows/order/start", "start-json": "/ui/workflows/order/start?as=json",
	"workflows": "/ui/workflows", "versions": "/ui/workflows/order", "hooks": "/ui/hooks", "workers": "/ui/workers", "failures": "/ui/failures",
	"stream": "/ui/runs/o-1/streams/note", "keys": "/ui/keys", "login": "/ui/login",
}

// unnamed are the fields that no label names.
const unnamed = `[...document.querySelectorAll("input:not([type=hidden]), select, textarea, button")].filter(e =>
	!(e.labels && e.labels.length) && !e.getAttribute("aria-label") && !(e.tagName === "BUTTON" && e.textContent.trim())).map(e => e.tagName + " " + e.name).join(", ")`

// cut are the texts that their box does not show, where nothing says that there is more.
const cut = `[...document.querySelectorAll("main *, header *")].filter(e => e.checkVisibility() && e.children.length === 0 && e.textContent.trim() &&
	!e.closest(".unseen, .skip, svg") && e.scrollWidth > e.clientWidth + 1 && e.clientWidth > 0 && getComputedStyle(e).overflowX === "hidden" &&
	getComputedStyle(e).textOverflow !== "ellipsis").map(e => e.tagName + "." + e.className + ": " + e.textContent.slice(0, 40)).slice(0, 5).join("; ")`

// narrow are the columns of causes that are too narrow to be read, and the hints in fields that do not fit in.
const narrow = `(() => {
	const pen = document.createElement("canvas").getContext("2d"), room = (e) => { const s = getComputedStyle(e); pen.font = s.fontSize + " " + s.fontFamily; return e.clientWidth - parseFloat(s.paddingLeft) - parseFloat(s.paddingRight); };
	return [...document.querySelectorAll("td.why")].filter(e => e.checkVisibility() && e.textContent.length > 40 && e.clientWidth < 200).map(e => "why has " + e.clientWidth)
		.concat([...document.querySelectorAll("input[placeholder]")].filter(e => e.checkVisibility() && e.clientWidth > 0 && room(e) < pen.measureText(e.placeholder).width).map(e => e.name + ": " + e.placeholder)).slice(0, 5).join("; ");
})()`

func (s *site) walks(t *testing.T, chromium context.Context) {
	b := s.tab(t, chromium)
	for _, width := range []int64{1280, 390} {
		b.do(chromedp.EmulateViewport(width, 900))
		for _, scheme := range []string{"light", "dark"} {
			b.dark(scheme)
			for name, path := range walked {
				b.open(path)
				if got := is[float64](b, `document.documentElement.scrollWidth`); got > float64(width) {
					t.Errorf("%s at %d: it is %v pixels wide", name, width, got)
				}
				for what, expression := range map[string]string{"fields without names": unnamed, "texts that are cut": cut, "what is too narrow": narrow} {
					if got := is[string](b, expression); got != "" {
						t.Errorf("%s at %d: %s: %s", name, width, what, got)
					}
				}
				if got := is[[]string](b, contrast); len(got) > 0 {
					t.Errorf("%s at %d, %s: it cannot be read: %v", name, width, scheme, got)
				}
			}
		}
	}
	b.dark("light")
}
