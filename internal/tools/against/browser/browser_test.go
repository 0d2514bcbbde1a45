package browser

// The pages in a real browser: one headless Chromium, and a tab for each thing that is shown.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"go.uber.org/goleak"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/internal/uitest"
	"github.com/stepwell/stepwell/server"
)

// browsers are the names of the program, and where else it may be.
var browsers = []string{
	"chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "/usr/lib/chromium/chromium", "/snap/bin/chromium",
	"/Applications/Chromium.app/Contents/MacOS/Chromium", "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
}

// screenshots is the folder that git ignores.
var screenshots = filepath.Join("..", "..", "..", "..", "screenshots")

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// site is a server with its pages, which tabs look at.
type site struct{ *uitest.Site }

func newSite(t *testing.T, o server.Options, more ...stepwell.Definition) *site {
	t.Helper()
	return &site{uitest.New(t, o, more...)}
}

func busySite(t *testing.T, o server.Options, more ...stepwell.Definition) *site {
	t.Helper()
	return &site{uitest.Busy(t, o, more...)}
}

// browser starts Chromium. What it returns makes tabs.
func browser(t *testing.T) context.Context {
	t.Helper()
	path := os.Getenv("STEPWELL_TEST_BROWSER")
	for i := 0; path == "" && i < len(browsers); i++ {
		path, _ = exec.LookPath(browsers[i])
	}
	if path == "" {
		t.Fatal("no Chromium: install Debian's package chromium, or name a browser in STEPWELL_TEST_BROWSER; make test-all installs it on Debian as root")
	}
	if err := os.MkdirAll(screenshots, 0o755); err != nil {
		t.Fatal(err)
	}
	opts := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.WindowSize(1280, 900), chromedp.Flag("force-color-profile", "srgb"))
	if os.Geteuid() == 0 {
		opts = append(opts, chromedp.NoSandbox)
	}
	ctx, stop := context.WithTimeout(t.Context(), 3*time.Minute)
	t.Cleanup(stop)
	ctx, end := chromedp.NewExecAllocator(ctx, opts...)
	t.Cleanup(end)
	ctx, quit := chromedp.NewContext(ctx)
	t.Cleanup(quit)
	if err := chromedp.Do(ctx); err != nil {
		t.Fatalf("start %s: %v", path, err)
	}
	return ctx
}

// tab is one of the browser's.
type tab struct {
	*testing.T
	ctx  context.Context
	base string

	mu     sync.Mutex
	faults []string // what the page's console said: errors, and what the policy refused
}

// tab opens one. What its console says against a page fails the test.
func (s *site) tab(t *testing.T, browser context.Context) *tab {
	t.Helper()
	ctx, end := chromedp.NewContext(browser)
	b := &tab{T: t, ctx: ctx, base: s.Base}
	t.Cleanup(func() {
		end()
		b.mu.Lock()
		defer b.mu.Unlock()
		for _, fault := range b.faults {
			t.Errorf("the browser's console: %s", fault)
		}
	})
	if err := chromedp.Do(ctx); err != nil {
		t.Fatal(err)
	}
	if err := chromedp.Listen(ctx, func(ev any) {
		b.mu.Lock()
		defer b.mu.Unlock()
		switch e := ev.(type) {
		case *runtime.EventExceptionThrown:
			b.faults = append(b.faults, fmt.Sprintf("exception: %+v", e.ExceptionDetails))
		case *log.EventEntryAdded:
			if e.Entry.Level == "error" && !strings.Contains(e.Entry.Text, "400") {
				b.faults = append(b.faults, e.Entry.Text+" "+e.Entry.URL)
			}
		}
	}); err != nil {
		t.Fatal(err)
	}
	return b
}

func (b *tab) do(steps ...chromedp.Action[chromedp.Void]) {
	b.Helper()
	if err := chromedp.Do(b.ctx, steps...); err != nil {
		b.Fatalf("%v, on a page that says: %s", err, b.says())
	}
}

func (b *tab) open(path string) {
	b.Helper()
	b.do(chromedp.Navigate(b.base + path))
}

// is evaluates an expression.
func is[T any](b *tab, expression string) T {
	b.Helper()
	v, err := chromedp.Run(b.ctx, chromedp.Evaluate[T](expression))
	if err != nil {
		b.Fatalf("%s: %v", expression, err)
	}
	return v
}

func (b *tab) says() string {
	v, err := chromedp.Run(b.ctx, chromedp.Evaluate[string](`location.pathname + location.search + "\n" + document.body.innerText`))
	return fmt.Sprintf("%.2500s %v", v, err)
}

// until waits for an expression to be true.
func (b *tab) until(what, expression string) {
	b.Helper()
	for limit := time.Now().Add(30 * time.Second); ; {
		v, err := chromedp.Run(b.ctx, chromedp.Evaluate[bool]("!!("+expression+")"))
		if v && err == nil {
			return
		}
		if time.Now().After(limit) {
			b.Fatalf("waited 30 s for %s (%v); the page says: %s", what, err, b.says())
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-b.ctx.Done():
			b.Fatal(b.ctx.Err())
		}
	}
}

// untilText waits for the page's main part to have a text.
func (b *tab) untilText(text string) {
	b.Helper()
	quoted, err := json.Marshal(text)
	if err != nil {
		b.Fatal(err)
	}
	b.until(text, `document.querySelector("main")?.innerText.includes(`+string(quoted)+`)`)
}

// press clicks, and waits for the page that it leads to.
func (b *tab) press(selector string) {
	b.Helper()
	is[bool](b, `document.documentElement.dataset.before = "yes", true`)
	b.do(chromedp.Click(chromedp.CSS(selector)))
	b.until("the page behind "+selector, `document.readyState === "complete" && !document.documentElement.dataset.before`)
}

// keep writes a picture of the whole page.
func (b *tab) keep(name string) {
	b.Helper()
	png, err := chromedp.Run(b.ctx, chromedp.FullScreenshot(100))
	if err == nil {
		err = os.WriteFile(filepath.Join(screenshots, name+".png"), png, 0o644)
	}
	if err != nil {
		b.Fatalf("screenshot %s: %v", name, err)
	}
}

// dark has the system like dark colours, or light ones.
func (b *tab) dark(scheme string) {
	b.Helper()
	b.do(chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
			Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}},
		})
		return err
	}))
}

// background is the page's, as one number from 0 to 255.
func (b *tab) background() float64 {
	b.Helper()
	return is[float64](b, `(() => { const c = document.createElement("canvas").getContext("2d"); c.fillStyle = getComputedStyle(document.body).backgroundColor;
		c.fillRect(0, 0, 1, 1); const d = c.getImageData(0, 0, 1, 1).data; return (d[0] + d[1] + d[2]) / 3 })()`)
}

func TestBrowser(t *testing.T) {
	s := busySite(t, server.Options{}, uitest.Hostile, uitest.Tell)
	s.StartHostile()
	chromium := browser(t)
	t.Run("a run moves live", func(t *testing.T) { s.movesLive(t, chromium) })
	t.Run("dark and light", func(t *testing.T) { s.darkAndLight(t, chromium) })
	t.Run("phone", func(t *testing.T) { s.phone(t, chromium) })
	t.Run("keyboard alone", func(t *testing.T) { s.keyboard(t, chromium) })
	t.Run("without scripts", func(t *testing.T) { s.withoutScripts(t, chromium) })
	t.Run("login", func(t *testing.T) { logsIn(t, chromium) })
	t.Run("a filter looks on", func(t *testing.T) {
		few := newSite(t, server.Options{})
		looksOn(t, few, few.tab(t, chromium))
	})
	t.Run("dialogs", func(t *testing.T) { s.asksInDialogs(t, chromium) })
	t.Run("walk", func(t *testing.T) { s.walks(t, chromium) })
	t.Run("zoom", func(t *testing.T) { s.zooms(t, chromium) })
	t.Run("a stream grows", func(t *testing.T) { s.streamGrows(t, chromium) })
}

// movesLive starts a run from its form, watches it go on without a reload, sends it an event, and forks it with another input.
func (s *site) movesLive(t *testing.T, chromium context.Context) {
	b := s.tab(t, chromium)
	b.open("/ui/")
	b.untilText("import-file")
	b.keep("overview")
	b.open("/ui/workflows/order/start?as=json")
	b.do(chromedp.SetValue(chromedp.CSS("#f-input"), `{"customer": "eve", "cents": 990, "items": ["lamp", "desk"]}`))
	b.keep("start")
	b.press(".act button")
	b.untilText("waiting for event \"paid\"")
	run := is[string](b, `document.querySelector("#run-id").textContent`)
	b.keep("run-waiting")
	b.press("#acts a.first") // Send event…
	if got := is[string](b, `document.querySelector("#f-event").value + document.querySelector("#f-payload").value.replace(/\s/g, "")`); got != `paid{"customer":"eve"}` {
		t.Errorf("the form proposes %s", got)
	}
	b.keep("signal")
	b.press(".act button")
	b.untilText("pack")
	is[bool](b, `window.stays = true`) // a page that is loaded anew has it no more
	b.until("the why to be that of the sleep", `document.querySelector("#why").innerText.startsWith("sleeping") || document.querySelector("#why").innerText.includes("pack")`)
	if _, err := s.App.Wake(t.Context(), run); err != nil { // elsewhere
		t.Fatal(err)
	}
	b.until("the why to be that of the hook", `document.querySelector("#why").innerText.includes("hook")`)
	is[bool](b, `(document.querySelector("tr.more details").open = true)`)
	if err := s.App.SendHook(t.Context(), "courier-eve", json.RawMessage(`"bike"`)); err != nil {
		t.Fatal(err)
	}
	b.until("the run to be over", `document.querySelector("h1 .status").innerText.includes("completed") && document.querySelector("#facts").innerText.includes("shipped by bike")`)
	if !is[bool](b, `window.stays === true && document.querySelector("tr.more details").open`) {
		t.Error("the page was loaded anew, or what was open is closed")
	}
	if got := is[string](b, `document.querySelector("#stable").textContent`); got != "Run is completed: over" {
		t.Errorf("screen readers hear %q", got)
	}
	b.keep("run-completed")
	b.open("/ui/runs/" + run + "/events")
	b.keep("events")
	b.press(`#e2 .tools a[href$="act/fork?at=2"]`)
	b.do(chromedp.SetValue(chromedp.CSS("#f-input"), `{"customer": "fay", "cents": 1}`))
	b.keep("fork")
	b.press(".act button")
	b.untilText("event 2 of run " + run)
	b.untilText("waiting for event \"paid\" where {\"customer\":\"fay\"}")
	fork := is[string](b, `document.querySelector("#run-id").textContent`)
	if info, err := s.App.Get(t.Context(), fork); err != nil || !strings.Contains(string(info.Input), "fay") || fork == run {
		t.Errorf("the fork %s has input %s, %v", fork, info.Input, err)
	}
	b.press(`#facts a[href="/ui/runs/` + run + `/events/2"]`) // and back to where it comes from
	b.open("/ui/runs/imp-1")
	b.keep("run-blocked")
	b.open("/ui/runs/o-2")
	b.keep("run-failed")
}

// darkAndLight looks at both, by the system's wish and by the switch.
func (s *site) darkAndLight(t *testing.T, chromium context.Context) {
	b := s.tab(t, chromium)
	b.dark("dark")
	b.open("/ui/")
	if got := b.background(); got > 60 {
		t.Errorf("the system is dark, the page is not: %v", got)
	}
	b.keep("dark-overview")
	b.open("/ui/runs/o-1")
	b.keep("dark-run")
	b.dark("light")
	if got := b.background(); got < 200 {
		t.Errorf("the system is light, the page is not: %v", got)
	}
	for i, want := range []string{"dark", "light", ""} {
		b.press(".theme button")
		if got := is[string](b, `document.documentElement.dataset.theme || ""`); got != want {
			t.Errorf("pressed %d times: theme %q, want %q", i+1, got, want)
		}
		if got := b.background(); (got < 60) != (want == "dark") {
			t.Errorf("theme %q: background %v", want, got)
		}
		if got := is[string](b, `location.pathname`); got != "/ui/runs/o-1" {
			t.Errorf("the switch leads to %s", got)
		}
	}
	for _, scheme := range []string{"light", "dark"} {
		b.dark(scheme)
		for _, path := range []string{"/ui/", "/ui/runs", "/ui/runs/o-1", "/ui/runs/imp-1", "/ui/runs/o-1/events", "/ui/runs/o-1/act/cancel", "/ui/failures", "/ui/workflows/order"} {
			b.open(path)
			for _, fault := range is[[]string](b, contrast) {
				t.Errorf("%s %s: %s", scheme, path, fault)
			}
		}
	}
}

// contrast lists texts that are hard to read: below 4.5 to 1, as WCAG 2 has it for AA.
const contrast = `(() => {
	const pen = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
	const rgba = (c) => { pen.clearRect(0, 0, 1, 1); pen.fillStyle = c; pen.fillRect(0, 0, 1, 1); return [...pen.getImageData(0, 0, 1, 1).data]; };
	const light = ([r, g, b]) => [r, g, b].map((v) => { v /= 255; return v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; }).reduce((s, v, i) => s + v * [0.2126, 0.7152, 0.0722][i], 0);
	const behind = (el) => { for (; el; el = el.parentElement) { const c = rgba(getComputedStyle(el).backgroundColor); if (c[3] > 200) return c; } return [255, 255, 255, 255]; };
	const found = new Set();
	for (const el of document.querySelectorAll("body *")) {
		if (![...el.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim()) || !el.checkVisibility() || el.closest(".unseen, .zero, .skip, noscript, svg, option")) continue;
		const a = light(rgba(getComputedStyle(el).color)), b = light(behind(el));
		const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
		if (ratio < 4.5) found.add(el.tagName + "." + el.className + " " + JSON.stringify(el.textContent.trim().slice(0, 30)) + " " + ratio.toFixed(2));
	}
	return [...found].slice(0, 10);
})()`

// phone looks at each page at 360 pixels: nothing sticks out, and what is pressed is large enough to hit.
func (s *site) phone(t *testing.T, chromium context.Context) {
	b := s.tab(t, chromium)
	b.do(chromedp.EmulateViewport(360, 740, chromedp.EmulateMobile))
	for name, path := range map[string]string{
		"overview": "/ui/", "runs": "/ui/runs", "run": "/ui/runs/o-1", "blocked": "/ui/runs/imp-1", "hostile": "/ui/runs/bad-1", "hostile-events": "/ui/runs/bad-1/events",
		"events": "/ui/runs/o-1/events", "event": "/ui/runs/o-1/events/1", "fork": "/ui/runs/o-1/act/fork?at=5", "hooks": "/ui/hooks", "workers": "/ui/workers", "queues": "/ui/queues", "topics": "/ui/topics", "schedules": "/ui/schedules", "limits": "/ui/limits",
		"workflows": "/ui/workflows", "keys": "/ui/keys", "stream": "/ui/runs/o-1/streams/note", "refused": "/ui/runs/o-1/act/none",
		"failures": "/ui/failures", "versions": "/ui/workflows/order",
	} {
		b.open(path)
		if got := is[float64](b, `document.documentElement.scrollWidth`); got > 360 {
			t.Errorf("%s is %v pixels wide; what sticks out: %s", path, got,
				is[string](b, `[...document.querySelectorAll("body *")].filter(e => e.getBoundingClientRect().right > 361).map(e => e.tagName + "." + e.className).slice(0, 8).join(" ")`))
		}
		switch name {
		case "overview", "runs", "run", "events", "failures":
			b.keep("phone-" + name)
		}
	}
	b.mu.Lock()
	b.faults = nil // of the page that is not there
	b.mu.Unlock()
	b.do(chromedp.EmulateViewport(390, 844, chromedp.EmulateMobile))
	b.open("/ui/runs")
	b.until("the filter to be folded", `document.querySelector(".folds") && !document.querySelector(".folds").open`)
	b.do(chromedp.Click(chromedp.CSS(".folds > summary")))
	b.until("the filter to be open", `document.querySelector(".folds").open && document.querySelector(".folds input").offsetHeight > 0`)
	desk := s.tab(t, chromium)
	desk.open("/ui/runs")
	desk.until("the filter to be open on a desk", `document.querySelector(".folds").open && document.querySelector(".folds > summary").offsetHeight === 0`)
}

// keyboard goes from page to page, and does something, without a mouse.
func (s *site) keyboard(t *testing.T, chromium context.Context) {
	b := s.tab(t, chromium)
	b.open("/ui/")
	b.do(chromedp.KeyEvent(kb.Tab))
	if got := is[string](b, `document.activeElement.className + getComputedStyle(document.activeElement).outlineStyle`); got != "skipsolid" {
		t.Errorf("the first stop is %q, want the way past the head, visibly", got)
	}
	b.do(chromedp.KeyEvent(kb.Enter))
	b.until("the main part", `document.activeElement.id === "main"`)
	b.do(chromedp.KeyEvent("g"), chromedp.KeyEvent("r"))
	b.until("the list of runs", `location.pathname === "/ui/runs" && document.readyState === "complete"`)
	b.do(chromedp.KeyEvent("j"))
	b.until("the first row", `document.querySelector("tr.on")`)
	for range 20 {
		if is[bool](b, `document.activeElement.textContent.includes("o-2")`) {
			break
		}
		b.do(chromedp.KeyEvent("j"))
	}
	b.do(chromedp.KeyEvent(kb.Enter))
	b.until("the run", `location.pathname === "/ui/runs/o-2" && document.readyState === "complete"`)
	for range 40 {
		b.do(chromedp.KeyEvent(kb.Tab))
		if is[bool](b, `document.activeElement.textContent === "Restart…"`) {
			break
		}
	}
	b.do(chromedp.KeyEvent(kb.Enter))
	b.until("the form", `location.pathname.endsWith("/act/restart") && document.readyState === "complete"`)
	for range 40 {
		b.do(chromedp.KeyEvent(kb.Tab))
		if is[bool](b, `document.activeElement.textContent === "Restart"`) {
			break
		}
	}
	if got := is[string](b, `getComputedStyle(document.activeElement).outlineStyle`); got != "solid" {
		t.Errorf("the focus is not to be seen: %q", got)
	}
	b.do(chromedp.KeyEvent(kb.Enter))
	b.until("the new run", `location.search === "?did=restart" && document.readyState === "complete"`)
	b.do(chromedp.KeyEvent("/"))
	b.until("the field that finds", `document.activeElement.id === "find"`)
	b.do(chromedp.KeyEvent(kb.Backspace)) // the driver sends the character of a key that was taken, too
	b.do(chromedp.KeyEvent("o-1"), chromedp.KeyEvent(kb.Enter))
	b.until("the run that was found", `location.pathname === "/ui/runs/o-1" && document.readyState === "complete"`)
	b.do(chromedp.KeyEvent("?"))
	b.until("the page of keys", `location.pathname === "/ui/keys" && document.readyState === "complete"`)
	b.press(`button[name=keys]`) // off
	b.do(chromedp.KeyEvent("g"), chromedp.KeyEvent("r"), chromedp.KeyEvent("j"))
	if got := is[string](b, `location.pathname + document.querySelectorAll("tr.on").length`); got != "/ui/keys0" {
		t.Errorf("the shortcuts are off, and lead to %s", got)
	}
}

// withoutScripts does the same with scripts turned off.
func (s *site) withoutScripts(t *testing.T, chromium context.Context) {
	b := s.tab(t, chromium)
	b.do(chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true})
		return err
	}))
	b.open("/ui/workflows/order/start?as=json")
	b.do(chromedp.SendKeys(chromedp.CSS("#f-key"), "no-scripts"))
	b.do(chromedp.SetValue(chromedp.CSS("#f-input"), `{"customer": "gil", "cents": 12}`))
	b.press(".act button")
	run := is[string](b, `document.querySelector("#run-id").textContent`)
	s.Until(run, stepwell.WhyEvent)
	b.open("/ui/runs/" + run)
	b.untilText("waiting for event \"paid\"")
	b.untilText("Without scripts this page does not update itself")
	if is[bool](b, `!!document.body.dataset.fresh || !!window.stays`) {
		t.Fatal("scripts run")
	}
	b.press(`#acts a[href$="act/pause"]`)
	b.do(chromedp.SendKeys(chromedp.CSS("#f-reason"), "for the test"))
	b.press(".act button")
	b.untilText("paused by tester")
	b.keep("without-scripts")
	b.press(`#acts form[action$="act/resume"] button`)
	s.Until(run, stepwell.WhyEvent)
	b.open("/ui/runs/" + run + "?refresh=2")
	if err := s.App.Signal(t.Context(), run, "paid", json.RawMessage(`{"customer": "gil"}`)); err != nil {
		t.Fatal(err)
	}
	s.Until(run, stepwell.WhySleep)
	b.untilText("Wake now") // the page loads itself again
	b.open("/ui/runs?status=failed")
	b.press(`table.runs tbody .what a`)
	b.untilText("nothing to pay")
	b.open("/ui/runs?workflow=order")
	b.do(chromedp.Click(chromedp.CSS(`input[name=run][value="` + run + `"]`)))
	b.press("#bulk button:not([name])")
	b.untilText("Cancel 1 run?")
	b.keep("bulk")
	b.press(".act button")
	b.untilText("Done: 1")
	s.Until(run, stepwell.WhyOver)
}

// logsIn shows a key to a server that wants one.
func logsIn(t *testing.T, chromium context.Context) {
	s := busySite(t, uitest.Locked(t))
	b := s.tab(t, chromium)
	b.open("/ui/runs/o-1")
	b.until("the login", `location.pathname === "/ui/login" && document.activeElement.id === "key"`)
	b.keep("login")
	b.do(chromedp.SendKeys(chromedp.CSS("#key"), "not-a-key-0123456789"))
	b.press(".act button")
	b.untilText("No key of this server has this secret.")
	b.mu.Lock()
	b.faults = nil // it was a 401
	b.mu.Unlock()
	b.do(chromedp.SendKeys(chromedp.CSS("#key"), uitest.ViewerSecret))
	b.press(".act button")
	b.until("the page that was asked for", `location.pathname === "/ui/runs/o-1" && document.body.innerText.includes("vic viewer")`)
	if got := is[string](b, `document.cookie + document.querySelectorAll("#acts").length`); strings.Contains(got, "session") || !strings.HasSuffix(got, "0") {
		t.Errorf("a script sees the session, or a viewer a button: %s", got)
	}
	if err := s.App.Pause(t.Context(), "o-1", "by another"); err != nil {
		t.Fatal(err)
	}
	b.untilText("by another") // the page is live for who has a session
	b.press(".who button")
	b.until("the login again", `location.pathname === "/ui/login"`)
}

// streamGrows follows a stream that is written while it is looked at.
func (s *site) streamGrows(t *testing.T, chromium context.Context) {
	b := s.tab(t, chromium)
	words := make(chan string)
	uitest.Telling.Store(&words)
	if _, err := uitest.Tell.Start(t.Context(), s.App, 0, stepwell.RunID("tale")); err != nil {
		t.Fatal(err)
	}
	words <- "Once upon"
	b.until2(func() bool {
		resp, err := s.HTTP.Get(s.Base + "/ui/runs/tale/streams/story")
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = resp.Body.Close() }() // it was read
		body, err := io.ReadAll(resp.Body)
		return err == nil && resp.StatusCode == 200 && strings.Contains(string(body), "Once upon")
	})
	b.open("/ui/runs/tale/streams/story")
	is[bool](b, `window.stays = true`)
	words <- " a <b>time</b>"
	b.until("the next words", `document.querySelector("#text").textContent === "Once upon a <b>time</b>"`)
	close(words)
	b.until("the end", `document.querySelector("#stream-state").textContent === "This is its end." && window.stays`)
	b.keep("stream")
}

func (b *tab) until2(there func() bool) {
	b.Helper()
	for limit := time.Now().Add(20 * time.Second); !there(); {
		if time.Now().After(limit) {
			b.Fatal("waited 20 s")
		}
		select {
		case <-time.After(5 * time.Millisecond):
		case <-b.ctx.Done():
			b.Fatal(errors.Join(b.ctx.Err(), b.Context().Err()))
		}
	}
}

// looksOn follows the way on of a filter that nothing fits.
func looksOn(t *testing.T, s *site, b *tab) {
	t.Helper()
	s.ManyRuns()
	b.open("/ui/runs?" + url.Values{"input.n": {"none"}}.Encode())
	b.untilText("Looked at runs back to")
	b.keep("runs-looked")
	b.press(".looked a")
	b.untilText("No run fits.")
	if is[bool](b, `document.querySelector(".looked") !== null`) {
		t.Error("the last page says that there is more")
	}
}
