package ui_test

// Each page, as it comes over the wire: what it says, that it is well-formed, and that each of its controls has a name.

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/internal/uitest"
	"github.com/stepwell/stepwell/server"
	"github.com/stepwell/stepwell/world"
)

// TestPages: each page answers, says what it should, is whole HTML, and names all its controls.
func TestPages(t *testing.T) {
	t.Parallel()
	s := busySite(t, server.Options{})
	for path, texts := range map[string][]string{
		"/ui/":                           {"imp-1", "blocked", "import-file", "tester"},
		"/ui/runs":                       {"o-1", "o-2", "imp-1", "nothing to pay", "waiting for event"},
		"/ui/runs?status=failed":         {"o-2"},
		"/ui/runs/o-1":                   {"waiting for event", "charge", "2 × bank: connection refused", "courier-ada", "r-1001", "Send event…", "city"},
		"/ui/runs/o-2":                   {"failed", "nothing to pay", "Retry", "Restart…"},
		"/ui/runs/imp-1":                 {"blocked (PANIC)", "column 7 is not a date", "Cancel…"},
		"/ui/runs/o-1/events":            {"run_created", "step_retrying", "fork from here"},
		"/ui/runs/o-1/events?about=none": {"No event fits"},
		"/ui/runs/o-1/events?type=step_completed&from=1": {"step_completed", "r-1001"},
		"/ui/runs/o-1/events?end=1":                      {"wait_created"},
		"/ui/runs/o-1/events/1":                          {"run_created", "&#34;customer&#34;: &#34;ada&#34;", `<code id="event-id">evnt_`, "&#34;eventId&#34;: &#34;evnt_"},
		"/ui/runs/o-1/act/fork?at=5":                     {"Behind event", `value="5"`, "&#34;customer&#34;"},
		"/ui/runs/o-1/act/signal":                        {`value="paid"`, "&#34;customer&#34;"},
		"/ui/runs/o-1/act/cancel":                        {"Reason", "Force"},
		"/ui/runs/o-1/act/pause":                         {"Reason"},
		"/ui/runs/o-2/act/restart":                       {"&#34;bob&#34;"},
		"/ui/runs/o-1/streams/note":                      {"Dear ada, your parcel is packed"},
		"/ui/workflows":                                  {"invoice", "import-file", "order"},
		"/ui/workflows/order/start":                      {"Idempotency key"},
		"/ui/hooks":                                      {"courier-ada", "o-1"},
		"/ui/workers":                                    {"tester", "order v1", "reserve"},
		"/ui/failures":                                   {"nothing to pay", "column 7 is not a date", "Retry all that failed"},
		"/ui/workflows/order":                            {"v1", "Workers that have it"},
		"/ui/runs/o-1/family":                            {"invoice", "completed"},
		"/ui/keys":                                       {"shortcuts"},
	} {
		p := s.want(path, texts...)
		wellFormed(t, path, p.body)
		if got := p.header.Get("Content-Security-Policy"); !strings.HasPrefix(got, "default-src 'none'; script-src 'self'; style-src 'self';") {
			t.Errorf("%s: policy %q", path, got)
		}
		if got := p.header.Get("Cache-Control"); got != "no-store" {
			t.Errorf("%s: Cache-Control is %q, want no-store", path, got)
		}
	}
	why, err := s.App.Why(t.Context(), "o-2") // it is over: its text does not change
	if err != nil {
		t.Fatal(err)
	}
	if p := s.get("/ui/runs/o-2"); !strings.Contains(p.body, "nothing to pay (uitest.go:") || !strings.HasPrefix(why.String(), "failed at") {
		t.Errorf("the page does not have what the API says: %s", why)
	}
	for path, status := range map[string]int{
		"/ui/runs/none": 404, "/ui/runs/o-1/events/999": 404, "/ui/runs/o-1/events/x": 404, "/ui/runs/o-1/streams/none": 404, "/ui/no/such": 404,
		"/ui/runs/o-1/act/explode": 404, "/ui/workers/none": 404, "/ui/runs?status=wrong": 400, "/ui/runs?cursor=wrong": 400, "/ui/runs?since=wrong": 400,
		"/ui/workflows/no%20name/start": 400, "/ui/assets/x/none.js": 404,
	} {
		p := s.get(path)
		if p.status != status {
			t.Errorf("%s: got %d, want %d", path, p.status, status)
		}
		wellFormed(t, path, p.body)
	}
}

// alone are elements that have no end.
var alone = map[string]bool{"meta": true, "link": true, "input": true, "img": true, "br": true, "hr": true}

// wellFormed checks that what is opened is closed, in uitest.Order, that IDs are there once, that nothing is inline which the policy forbids, and that each
// control has a name. It returns what it read.
func wellFormed(t *testing.T, path, body string) *html.Node {
	t.Helper()
	z := html.NewTokenizer(strings.NewReader(body))
	var open []string
	ids := map[string]bool{}
	for {
		switch kind := z.Next(); kind {
		case html.ErrorToken:
			if len(open) > 0 {
				t.Errorf("%s: not closed: %q", path, open)
			}
			return named(t, path, body, ids)
		case html.StartTagToken, html.SelfClosingTagToken:
			tok := z.Token()
			for _, a := range tok.Attr {
				if a.Key == "style" || strings.HasPrefix(a.Key, "on") {
					t.Errorf("%s: <%s %s=…>: the policy forbids it", path, tok.Data, a.Key)
				}
				if a.Key != "value" && strings.HasPrefix(strings.TrimSpace(strings.ToLower(a.Val)), "javascript:") {
					t.Errorf("%s: <%s %s=%q>", path, tok.Data, a.Key, a.Val)
				}
				if a.Key == "id" {
					if ids[a.Val] {
						t.Errorf("%s: the ID %q is there twice", path, a.Val)
					}
					ids[a.Val] = true
				}
			}
			if kind == html.StartTagToken && !alone[tok.Data] {
				open = append(open, tok.Data)
			}
		case html.EndTagToken:
			tok := z.Token()
			if len(open) == 0 || open[len(open)-1] != tok.Data {
				t.Fatalf("%s: </%s> closes %q", path, tok.Data, open)
			}
			open = open[:len(open)-1]
		case html.TextToken:
			if n := len(open); n > 0 && (open[n-1] == "script" || open[n-1] == "style") && strings.TrimSpace(string(z.Text())) != "" {
				t.Errorf("%s: text in <%s>", path, open[n-1])
			}
		}
	}
}

// named checks what screen readers say.
func named(t *testing.T, path, body string, ids map[string]bool) *html.Node {
	t.Helper()
	doc, err := html.Parse(strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	labels := map[string]bool{}
	for n := range doc.Descendants() {
		if n.Data == "label" {
			labels[attr(n, "for")] = true
		}
	}
	headings := 0
	for n := range doc.Descendants() {
		if n.Type != html.ElementNode {
			continue
		}
		at := fmt.Sprintf("%s: <%s name=%q href=%q>", path, n.Data, attr(n, "name"), attr(n, "href"))
		for _, ref := range []string{"for", "aria-labelledby", "aria-describedby", "form", "list"} {
			if id := attr(n, ref); id != "" && !ids[id] {
				t.Errorf("%s: %s names %q, which is not there", at, ref, id)
			}
		}
		switch n.Data {
		case "h1":
			headings++
		case "input", "select", "textarea":
			if attr(n, "type") == "hidden" {
				continue
			}
			if attr(n, "aria-label") == "" && !labels[attr(n, "id")] && !within(n, "label") {
				t.Errorf("%s has no label", at)
			}
		case "button", "a":
			if attr(n, "aria-label") == "" && strings.TrimSpace(text(n)) == "" {
				t.Errorf("%s has no name", at)
			}
		case "table":
			if first := firstElement(n); first == nil || first.Data != "caption" || strings.TrimSpace(text(first)) == "" {
				t.Errorf("%s has no caption", at)
			}
		case "th":
			if attr(n, "scope") == "" {
				t.Errorf("%s: a heading without scope", at)
			}
		case "img":
			if !has(n, "alt") {
				t.Errorf("%s has no alt", at)
			}
		case "svg":
			if attr(n, "aria-hidden") == "" && (attr(n, "role") != "img" || attr(n, "aria-label") == "") {
				t.Errorf("%s: a picture without a name", at)
			}
		case "html":
			if attr(n, "lang") == "" {
				t.Errorf("%s has no language", at)
			}
		case "nav", "section":
			if attr(n, "aria-label") == "" && attr(n, "aria-labelledby") == "" && n.Data == "nav" {
				t.Errorf("%s: a landmark without a name", at)
			}
		}
	}
	if headings != 1 {
		t.Errorf("%s: %d h1, want 1", path, headings)
	}
	return doc
}

func attr(n *html.Node, name string) string {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

func has(n *html.Node, name string) bool {
	for _, a := range n.Attr {
		if a.Key == name {
			return true
		}
	}
	return false
}

func within(n *html.Node, name string) bool {
	for p := range n.Ancestors() {
		if p.Data == name {
			return true
		}
	}
	return false
}

func firstElement(n *html.Node) *html.Node {
	for c := range n.ChildNodes() {
		if c.Type == html.ElementNode {
			return c
		}
	}
	return nil
}

func text(n *html.Node) string {
	var b strings.Builder
	for c := range n.Descendants() {
		if c.Type == html.TextNode {
			b.WriteString(c.Data)
		}
	}
	return b.String()
}

// TestActs: each button does what it says, once, and says so on the next page.
func TestActs(t *testing.T) {
	t.Parallel()
	s := busySite(t, server.Options{})
	led := func(p *page, path, did string) {
		t.Helper()
		if p.status != http.StatusOK || p.at.Path != path && path != "" || p.at.Query().Get("did") != did {
			t.Fatalf("got %d at %s, want %s with did=%s: %.600s", p.status, p.at, path, did, p.body)
		}
	}
	led(s.post("/ui/runs/o-1/act/pause", "reason", "the bank is closed"), "/ui/runs/o-1", "pause")
	s.want("/ui/runs/o-1", "the bank is closed", "Resume")
	led(s.post("/ui/runs/o-1/act/resume"), "/ui/runs/o-1", "resume")
	s.Until("o-1", stepwell.WhyEvent)
	if p := s.post("/ui/runs/o-1/act/signal", "event", "paid", "payload", `{"customer": `); p.status != 400 || !strings.Contains(p.body, "Payload: it is not JSON") || !strings.Contains(p.body, "{&#34;customer&#34;: ") {
		t.Errorf("bad JSON: got %d, want 400 and the form again: %.3000s", p.status, p.body)
	}
	for range 2 { // the same form twice is one event
		led(s.post("/ui/runs/o-1/act/signal", "event", "paid", "payload", `{"customer": "ada"}`, "delivery", "once"), "/ui/runs/o-1", "signal")
	}
	s.Until("o-1", stepwell.WhySleep)
	n := 0
	for e, err := range s.App.Events(t.Context(), "o-1", stepwell.EventFilter{Types: []world.EventType{world.SignalReceived}}) {
		if err != nil {
			t.Fatal(err)
		}
		if n++; e.Name != "paid" {
			t.Errorf("got event %q, want paid", e.Name)
		}
	}
	if n != 1 {
		t.Errorf("got %d events, want 1", n)
	}
	led(s.post("/ui/runs/o-1/act/wake"), "/ui/runs/o-1", "wake")
	s.Until("o-1", stepwell.WhyHook)
	led(s.post("/ui/runs/o-1/act/wake"), "/ui/runs/o-1", "nowake")
	s.want("/ui/runs/o-1/act/hook", `value="courier-ada"`)
	if p := s.post("/ui/runs/o-1/act/hook", "hook", "another", "payload", `"x"`); p.status != 400 || !strings.Contains(p.body, "no open hook") {
		t.Errorf("a hook of nobody: got %d, want 400: %.300s", p.status, p.body)
	}

	for _, did := range []string{"fork", "there"} { // the same form twice is one run
		led(s.post("/ui/runs/o-1/act/fork", "at", "1", "id", "wrun_fork", "input", `{"customer": "cy", "cents": 7}`), "/ui/runs/wrun_fork", did)
	}
	s.Until("wrun_fork", stepwell.WhyEvent)
	s.want("/ui/runs/wrun_fork", "event 1 of run o-1", "/ui/runs/o-1/events/1", "&#34;cy&#34;")
	if p := s.post("/ui/runs/o-1/act/fork", "at", "1000", "id", "wrun_nofork"); p.status != 400 || !strings.Contains(p.body, "1000") {
		t.Errorf("fork from nowhere: got %d, want 400", p.status)
	}
	led(s.post("/ui/runs/o-1/act/hook", "hook", "courier-ada", "payload", `"bike"`), "/ui/runs/o-1", "hook")
	s.Until("o-1", stepwell.WhyOver)
	s.want("/ui/runs/o-1", "shipped by bike")
	led(s.post("/ui/runs/o-2/act/retry"), "", "retry")
	led(s.post("/ui/runs/o-2/act/restart", "input", `{"customer": "dan", "cents": 5}`, "id", "wrun_again"), "/ui/runs/wrun_again", "restart")
	s.Until("wrun_again", stepwell.WhyEvent)
	led(s.post("/ui/runs/wrun_again/act/cancel", "reason", "a test"), "/ui/runs/wrun_again", "cancel")
	s.Until("wrun_again", stepwell.WhyOver)
	s.want("/ui/runs/wrun_again", "cancelled", "a test", "undo", "refund")
	s.want("/ui/runs/o-2", "retried as")
	s.want("/ui/runs/wrun_again/act/restart", `name="inPlace"`)
	led(s.post("/ui/runs/wrun_again/act/restart", "input", `{"customer": "dan", "cents": 5}`, "id", "wrun_instead", "inPlace", "yes"), "/ui/runs/wrun_instead", "restart")
	s.want("/ui/runs/wrun_again", "retried as", `href="/ui/runs/wrun_instead"`)
	led(s.post("/ui/runs/imp-1/act/cancel", "force", "yes"), "/ui/runs/imp-1", "forced")
	if p := s.post("/ui/runs/imp-1/act/pause"); p.status != 409 || !strings.Contains(p.body, "RUN_OVER") {
		t.Errorf("pause of what is over: got %d: %.300s", p.status, p.body)
	}
	led(s.post("/ui/workflows/invoice/start", "input", "300", "id", "wrun_inv"), "/ui/runs/wrun_inv", "start")
	led(s.post("/ui/workflows/invoice/start", "input", "300", "key", "k", "delay", "1h"), "", "start")
	led(s.post("/ui/workflows/invoice/start", "input", "300", "key", "k"), "", "there")
	for _, fields := range [][]string{{"input", "{"}, {"input", `"no number"`}, {"delay", "soon"}, {"version", "x"}} {
		status := 400
		if fields[1] == `"no number"` {
			status = 422
		}
		if p := s.post("/ui/workflows/invoice/start", fields...); p.status != status || !strings.Contains(p.body, `role="alert"`) {
			t.Errorf("start with %q: got %d, want %d and the form again", fields, p.status, status)
		}
	}
	for what, want := range map[string]string{
		`what="ui start"`: "run_id=wrun_inv", `what="ui fork"`: "refused=INVALID", `what="ui start" `: "refused=",
	} {
		if !regexp.MustCompile(what + ".*" + want).MatchString(s.Log.String()) {
			t.Errorf("the audit log has no %s with %s", what, want)
		}
	}
	if got := strings.Count(s.Log.String(), "msg=audit"); got < 15 {
		t.Errorf("got %d lines of audit, want one for each act:\n%s", got, s.Log)
	}
}

// TestBulk: what is meant is shown before anything is done; then it is done, page by page, and what refuses stops nothing.
func TestBulk(t *testing.T) {
	t.Parallel()
	s := newSite(t, server.Options{})
	const all = 120
	for i := range all {
		if _, err := uitest.Invoice.Start(t.Context(), s.App, i, stepwell.RunID(fmt.Sprintf("i-%03d", i)), stepwell.Delay(time.Hour)); err != nil {
			t.Fatal(err)
		}
	}
	p := s.post("/ui/runs/act", "act", "pause", "all", "yes", "query", "workflow=invoice")
	if p.status != 200 || !strings.Contains(p.body, fmt.Sprintf("Pause %d runs?", all)) {
		t.Fatalf("got %d: %.1500s", p.status, p.body)
	}
	wellFormed(t, "bulk", p.body)
	if strings.Contains(s.Log.String(), `what="ui bulk"`) {
		t.Error("the audit log has the question as a deed")
	}
	if n := s.paused(); n != 0 {
		t.Fatalf("%d are paused before it was confirmed", n)
	}
	p = s.post("/ui/runs/act", "act", "pause", "all", "yes", "query", "workflow=invoice", "sure", "yes", "reason", "audit")
	if n := s.paused(); n != 100 || !strings.Contains(p.body, "There are more") {
		t.Fatalf("%d are paused, want 100, and that there are more: %.1500s", n, p.body)
	}
	wellFormed(t, "bulk", p.body)
	if line := `act=pause filter="workflow=invoice" runs_done=100 runs_refused=0`; !strings.Contains(s.Log.String(), line) {
		t.Errorf("the audit log has no %s", line)
	}
	cursor := between(p.body, `name="cursor" value="`, `"`)
	p = s.post("/ui/runs/act", "act", "pause", "all", "yes", "query", "workflow=invoice", "sure", "yes", "cursor", cursor, "before", "100")
	if n := s.paused(); n != all || strings.Contains(p.body, "There are more") {
		t.Fatalf("%d are paused, want %d: %.1500s", n, all, p.body)
	}
	p = s.post("/ui/runs/act", "act", "cancel", "run", "i-001", "run", "i-002", "sure", "yes")
	if !strings.Contains(p.body, "<strong>2</strong>") {
		t.Errorf("chosen ones: %.1500s", p.body)
	}
	s.Until("i-001", stepwell.WhyOver)
	s.Until("i-002", stepwell.WhyOver)
	p = s.post("/ui/runs/act", "act", "resume", "run", "i-001", "run", "i-003", "sure", "yes")
	if !strings.Contains(p.body, "<strong>1</strong>") || !strings.Contains(p.body, "The run is over") {
		t.Errorf("one that refuses: %.1500s", p.body)
	}
	for _, fields := range [][]string{{"act", "pause"}, {"act", "explode", "all", "yes"}, {"act", "pause", "all", "yes", "query", "status=wrong"}} {
		if p := s.post("/ui/runs/act", fields...); p.status != 400 {
			t.Errorf("%q: got %d, want 400", fields, p.status)
		}
	}
}

// TestBulkSignal: an event goes to many runs, to each once, however often the form is sent, and to none where it makes no sense.
func TestBulkSignal(t *testing.T) {
	t.Parallel()
	s := newSite(t, server.Options{})
	const all = 120
	for i := range all {
		if _, err := s.App.Start(t.Context(), "strange", []byte(`1`), stepwell.RunID(fmt.Sprintf("s-%03d", i))); err != nil {
			t.Fatal(err)
		}
	}
	sent := func() (n int) {
		t.Helper()
		for _, id := range []string{"s-000", "s-119"} {
			info, err := s.World.Run(t.Context(), id)
			if err != nil {
				t.Fatal(err)
			}
			n += info.Queue.Mail
		}
		return n
	}
	p := s.post("/ui/runs/act", "act", "signal", "all", "yes", "query", "workflow=strange")
	wellFormed(t, "bulk", p.body)
	delivery := between(p.body, `name="delivery" value="`, `"`)
	if !strings.Contains(p.body, "Send event to 120 runs?") || delivery == "" {
		t.Fatalf("it asks: %.1500s", p.body)
	}
	send := []string{"act", "signal", "all", "yes", "query", "workflow=strange", "sure", "yes", "delivery", delivery}
	for _, wrong := range [][]string{{"event", "paid", "payload", "{"}, {"event", "", "payload", "1"}, {"event", "a\nb", "payload", "1"}} {
		if p := s.post("/ui/runs/act", append(send, wrong...)...); p.status != 400 || sent() != 0 {
			t.Errorf("%q: got %d and %d sent, want 400 and none", wrong, p.status, sent())
		}
	}
	send = append(send, "event", "paid", "payload", `{"cents": 1}`)
	for range 2 {
		p = s.post("/ui/runs/act", send...)
		if !strings.Contains(p.body, "Done: <strong>100</strong>") || sent() != 1 {
			t.Fatalf("%d were sent: %.1500s", sent(), p.body)
		}
	}
	wellFormed(t, "bulk", p.body)
	send = send[:8] // the page's own form has the rest
	for _, field := range []string{"event", "payload", "delivery", "cursor"} {
		send = append(send, field, html.UnescapeString(between(p.body, `name="`+field+`" value="`, `"`)))
	}
	if p = s.post("/ui/runs/act", send...); !strings.Contains(p.body, "Done: <strong>20</strong>") || sent() != 2 {
		t.Fatalf("%d were sent: %.1500s", sent(), p.body)
	}
}

func (s *site) paused() int {
	s.Helper()
	stats, err := s.World.Stats(s.Context())
	if err != nil {
		s.Fatal(err)
	}
	n := 0
	for _, w := range stats.Workflows {
		n += w.Paused
	}
	return n
}

func between(s, before, after string) string {
	_, s, _ = strings.Cut(s, before)
	s, _, _ = strings.Cut(s, after)
	return s
}

// TestOverviewOfWhatNobodyWorksOn: runs that no worker has the code of are not passed over in silence.
func TestOverviewOfWhatNobodyWorksOn(t *testing.T) {
	t.Parallel()
	s := newSite(t, server.Options{})
	s.want("/ui/", "Nothing is blocked")
	if _, err := s.App.Start(t.Context(), "strange", []byte(`1`), stepwell.RunID("s-1")); err != nil {
		t.Fatal(err)
	}
	p := s.want("/ui/", "No worker has the code of these", `<a href="/ui/runs?workflow=strange">strange</a>: 1 run<`)
	if strings.Contains(p.body, "Nothing is blocked") {
		t.Error("the page says that nothing is blocked, while a run waits for a worker")
	}
	wellFormed(t, "/ui/", p.body)
}
