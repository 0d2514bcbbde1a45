package ui_test

// Who may come in, and do what: keys, sessions, scopes, forged forms.

import (
	"fmt"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/stepwell/stepwell/internal/uitest"
	"github.com/stepwell/stepwell/server"
)

// login begins a session, as another visitor.
func (s *site) login(secret string) *page {
	s.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		s.Fatal(err)
	}
	s.HTTP.Jar = jar
	token := between(s.get("/ui/login").body, `name="token" value="`, `"`)
	return s.send("/ui/login", url.Values{"token": {token}, "key": {secret}, "next": {"/ui/workers"}})
}

// TestLogin: a key opens a session in a cookie that scripts and other sites do not have, which says nothing of the key, and ends.
func TestLogin(t *testing.T) {
	t.Parallel()
	s := newSite(t, uitest.Locked(t))
	p := s.get("/ui/runs?status=failed")
	if p.at.Path != "/ui/login" || p.at.Query().Get("next") != "/ui/runs?status=failed" {
		t.Fatalf("without a key: got %s, want the login, and the way back", p.at)
	}
	wellFormed(t, "/ui/login", p.body)
	for _, path := range []string{"/ui/", "/ui/runs/x", "/ui/hooks", "/ui/no/such/page", "/ui/runs/x/live", "/ui/runs/x/events/1/payload"} {
		if p := s.get(path); p.at.Path != "/ui/login" {
			t.Errorf("%s without a key: got %s", path, p.at)
		}
	}
	for _, wrong := range []string{"", "nobody's-secret-0123456789", uitest.ViewerSecret[:len(uitest.ViewerSecret)-1], strings.Repeat("x", 10_000)} {
		if p := s.login(wrong); p.status != http.StatusUnauthorized || len(s.cookies()) != 0 {
			t.Errorf("%.40q: got %d and cookies %q, want 401 and none", wrong, p.status, s.cookies())
		}
	}
	if p := s.login(strings.Repeat("x", 100_000)); p.status != http.StatusRequestEntityTooLarge || len(s.cookies()) != 0 {
		t.Errorf("a key of 100 kB: got %d and cookies %q, want 413 and none: its form has 16 KiB", p.status, s.cookies())
	}
	s.HTTP.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	p = s.login(uitest.OperatorSecret)
	cookie := p.header.Get("Set-Cookie")
	for _, part := range []string{"HttpOnly", "SameSite=Strict", "Path=/ui/", "Max-Age=43200"} {
		if !strings.Contains(cookie, part) {
			t.Errorf("the cookie is %q, want %s", cookie, part)
		}
	}
	if strings.Contains(cookie, "Secure") || p.status != http.StatusSeeOther || p.header.Get("Location") != "/ui/workers" {
		t.Errorf("got %d to %q with %q, want the page that was asked for, and no Secure without TLS", p.status, p.header.Get("Location"), cookie)
	}
	if s.get("/ui/login").status != http.StatusSeeOther {
		t.Error("who is logged in sees the login")
	}
	s.HTTP.CheckRedirect = nil
	s.want("/ui/workers", "olga", "operator", "Log out")
	id := s.cookies()[0].Value
	if p := s.post("/ui/logout"); p.at.Path != "/ui/login" {
		t.Errorf("after the logout: %s", p.at)
	}
	if p := s.get("/ui/workers", "Cookie", "stepwell_session="+id); p.at.Path != "/ui/login" {
		t.Errorf("the session goes on after the logout, at %s", p.at)
	}
	if log := s.Log.String(); strings.Contains(log, id) || strings.Contains(log, uitest.OperatorSecret) || !strings.Contains(log, `who=olga what="ui login"`) ||
		!strings.Contains(log, `who=anonymous what="ui login"`) {
		t.Errorf("the log has a secret, or not who came: %s", log)
	}
	// Behind a proxy that encrypts, the cookie is for encrypted connections alone.
	s.HTTP.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	token := between(s.get("/ui/login").body, `name="token" value="`, `"`)
	p = s.send("/ui/login", url.Values{"token": {token}, "key": {uitest.AdminSecret}}, "X-Forwarded-Proto", "https")
	if cookie := p.header.Get("Set-Cookie"); !strings.Contains(cookie, "Secure") || !strings.HasPrefix(cookie, "__Host-stepwell_session=") || !strings.Contains(cookie, "Path=/;") {
		t.Errorf("behind TLS the cookie is %q, want Secure", cookie)
	}
	s.HTTP.Jar = nil
	for _, next := range []string{"https://evil.example/", "//evil.example/ui/", "/ui/../v1/runs", "/ui\\..\\x", "javascript:alert(1)", "/v1/runs", "/ui/\r\nSet-Cookie: a=b"} {
		p := s.send("/ui/login", url.Values{"token": {token}, "key": {uitest.AdminSecret}, "next": {next}})
		if to := p.header.Get("Location"); to != "/ui/" {
			t.Errorf("next %q leads to %q", next, to)
		}
	}
}

func (s *site) cookies() []*http.Cookie {
	at, err := url.Parse(s.Base + "/ui/")
	if err != nil {
		s.Fatal(err)
	}
	return s.HTTP.Jar.Cookies(at)
}

var seedShown = regexp.MustCompile(`seed(&#34;|&quot;|")?:\s*[1-9]`)

// TestScopes: a viewer sees no token and no button, and presses none; only an admin forces, and acts on many.
func TestScopes(t *testing.T) {
	t.Parallel()
	s := busySite(t, uitest.Locked(t))
	const token = "courier-ada"
	if p := s.login(uitest.ViewerSecret); p.at.Path != "/ui/workers" {
		t.Fatalf("login: %s", p.at)
	}
	for _, path := range []string{"/ui/", "/ui/runs", "/ui/runs/o-1", "/ui/runs/o-1/events", "/ui/runs/o-1/events?type=hook_created", "/ui/hooks", "/ui/hooks?token=" + token} {
		p := s.want(path)
		if strings.Contains(strings.ReplaceAll(p.body, "/ui/hooks?token="+token, ""), token) {
			t.Errorf("%s: a viewer sees the token", path)
		}
		own := strings.Count(p.body, `method="post" action="/ui/prefs"`) // colours, columns: what the browser keeps
		if n := strings.Count(p.body, `method="post"`) - own; n != 1 || own == 0 {
			t.Errorf("%s: a viewer has %d forms that act, want the logout alone", path, n)
		}
	}
	for seq := 1; seq <= 24; seq++ {
		if p := s.get(fmt.Sprintf("/ui/runs/o-1/events/%d", seq)); strings.Contains(p.body, token) || seedShown.MatchString(p.body) {
			t.Errorf("event %d: a viewer sees the token, or the seed", seq)
		}
	}
	refused := func(who string, p *page) {
		t.Helper()
		if p.status != http.StatusForbidden {
			t.Errorf("%s: got %d, want 403: %.500s", who, p.status, p.body)
		}
	}
	refused("viewer cancels", s.post("/ui/runs/o-1/act/cancel"))
	refused("viewer starts", s.post("/ui/workflows/invoice/start", "input", "1"))
	refused("viewer opens a form", s.get("/ui/runs/o-1/act/fork"))
	refused("viewer, many", s.post("/ui/runs/act", "act", "pause", "all", "yes", "sure", "yes"))
	s.login(uitest.OperatorSecret)
	if p := s.want("/ui/runs", "o-1"); strings.Contains(p.body, "With many runs") {
		t.Error("an operator is offered to act on many")
	}
	if p := s.want("/ui/runs/o-1/act/cancel", "Reason"); strings.Contains(p.body, "Force") {
		t.Error("an operator is offered to force")
	}
	s.want("/ui/hooks", token)
	refused("operator forces", s.post("/ui/runs/o-1/act/cancel", "force", "yes"))
	refused("operator, many", s.post("/ui/runs/act", "act", "pause", "all", "yes", "sure", "yes"))
	if p := s.post("/ui/runs/o-1/act/pause", "reason", "by olga"); p.status != 200 {
		t.Errorf("operator pauses: %d", p.status)
	}
	s.want("/ui/runs/o-1", "paused by olga")
	s.login(uitest.AdminSecret)
	if p := s.post("/ui/runs/o-1/act/cancel", "force", "yes"); p.status != 200 {
		t.Errorf("admin forces: %d: %.500s", p.status, p.body)
	}
	for _, line := range []string{`who=olga what="ui pause"`, `who=vic what="ui cancel"`, "refused=FORBIDDEN", `who=ann what="ui force cancel"`, "run_id=o-1"} {
		if !strings.Contains(s.Log.String(), line) {
			t.Errorf("the audit log does not have %s", line)
		}
	}
}

// TestForgery: a form without its token, with another visitor's, or from elsewhere, does nothing.
func TestForgery(t *testing.T) {
	t.Parallel()
	s := busySite(t, uitest.Locked(t))
	s.login(uitest.ViewerSecret)
	others := s.token()
	s.login(uitest.AdminSecret)
	mine := s.token()
	if others == mine {
		t.Fatal("two sessions have the same token")
	}
	for name, form := range map[string]url.Values{"none": {}, "empty": {"token": {""}}, "another's": {"token": {others}}} {
		if p := s.send("/ui/runs/o-1/act/pause", form); p.status != http.StatusForbidden {
			t.Errorf("token %s: got %d, want 403", name, p.status)
		}
	}
	if p := s.send("/ui/runs/o-1/act/pause?token="+mine, url.Values{}); p.status != http.StatusForbidden {
		t.Errorf("a token in the address: got %d, want 403", p.status)
	}
	for name, headers := range map[string][]string{"Sec-Fetch-Site": {"Sec-Fetch-Site", "cross-site"}, "Origin": {"Origin", "https://evil.example"}} {
		if p := s.send("/ui/runs/o-1/act/pause", url.Values{"token": {mine}}, headers...); p.status != http.StatusForbidden {
			t.Errorf("from elsewhere by %s: got %d, want 403", name, p.status)
		}
	}
	if p := s.send("/ui/runs/o-1/act/pause", url.Values{"token": {mine}, "reason": {strings.Repeat("x", 3<<20)}}); p.status != http.StatusRequestEntityTooLarge {
		t.Errorf("3 MiB: got %d, want 413", p.status)
	}
	if n := s.paused(); n != 0 {
		t.Errorf("%d runs are paused", n)
	}
	// Who comes from a link elsewhere has no cookie on the first request, and is asked once more before there is a login.
	jar := s.HTTP.Jar
	s.HTTP.Jar = nil
	p := s.get("/ui/runs/o-1", "Sec-Fetch-Site", "cross-site")
	s.HTTP.Jar = jar
	if p.at.Path != "/ui/runs/o-1" || !strings.Contains(p.body, `content="0; url=/ui/runs/o-1"`) {
		t.Errorf("from a link: got %s: %.500s", p.at, p.body)
	}
	if p := s.get("/ui/runs", "Host", "x"); p.status != 200 {
		t.Errorf("with keys any host will do: got %d", p.status)
	}
}

// TestRoot: a browser that asks for the server gets the pages; a program does not; and they can be left out.
func TestRoot(t *testing.T) {
	t.Parallel()
	s := newSite(t, server.Options{})
	if p := s.get("/", "Accept", "text/html,*/*"); p.at.Path != "/ui/" || p.status != 200 {
		t.Errorf("a browser: got %d at %s", p.status, p.at)
	}
	if p := s.get("/", "Accept", "application/json"); p.status != 404 || !strings.Contains(p.body, "NO_ROUTE") {
		t.Errorf("a program: got %d: %s", p.status, p.body)
	}
	none := newSite(t, server.Options{NoUI: true})
	for _, path := range []string{"/", "/ui/", "/ui/runs"} {
		if p := none.get(path, "Accept", "text/html"); p.status != 404 || !strings.Contains(p.body, "NO_ROUTE") {
			t.Errorf("left out: %s answers %d: %.200s", path, p.status, p.body)
		}
	}
}
