package ui

// What is kept of visitors is bounded, ends, and cannot be made up.

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
)

func withCookies(cookies ...string) *http.Request {
	r := httptest.NewRequest(http.MethodGet, "/ui/", nil)
	for i := 0; i+1 < len(cookies); i += 2 {
		r.Header.Add("Cookie", cookies[i]+"="+cookies[i+1])
	}
	return r
}

func TestSessions(t *testing.T) {
	var s sessions
	now := time.Now()
	first := s.begin(Who{Name: "first", Level: Admin}, now)
	if id, who := s.find(withCookies(sessionCookie, first), now); id != first || who == nil || who.Name != "first" {
		t.Fatalf("got %q, %v", id, who)
	}
	for name, r := range map[string]*http.Request{
		"none": withCookies(), "empty": withCookies(sessionCookie, ""), "made up": withCookies(sessionCookie, first[:len(first)-1]+"x"), "another name": withCookies("session", first),
	} {
		if id, who := s.find(r, now); id != "" || who != nil {
			t.Errorf("%s: got %q, %v", name, id, who)
		}
	}
	if _, who := s.find(withCookies(sessionCookie, "made-up", sessionCookie, first), now); who == nil {
		t.Error("a cookie of somebody else's hides the right one")
	}
	if _, who := s.find(withCookies(sessionCookie, first), now.Add(sessionTime)); who != nil {
		t.Error("a session goes on behind its time")
	}
	for i := range mostSessions {
		s.begin(Who{}, now.Add(time.Duration(i+1)*time.Millisecond))
	}
	if got := len(s.all); got != mostSessions {
		t.Errorf("got %d sessions, want %d at most", got, mostSessions)
	}
	if _, who := s.find(withCookies(sessionCookie, first), now); who != nil {
		t.Error("the session that ends first has not gone")
	}
	s.begin(Who{}, now.Add(2*sessionTime))
	if got := len(s.all); got != 1 {
		t.Errorf("got %d sessions, want those gone whose time is over", got)
	}
}

func TestTokens(t *testing.T) {
	a, b := &UI{secret: [32]byte{1}}, &UI{secret: [32]byte{2}}
	for _, c := range []struct {
		session, token string
		want           bool
	}{
		{"s", a.token("s"), true}, {"", a.token(""), true}, {"s", a.token(""), false}, {"", a.token("s"), false}, {"s", b.token("s"), false}, {"s", "", false},
	} {
		if got := a.tokenFits(c.session, c.token); got != c.want {
			t.Errorf("session %q, token %q: got %v, want %v", c.session, c.token, got, c.want)
		}
	}
}

func TestPrefs(t *testing.T) {
	if p := readPrefs(withCookies(themeCookie, "dark", keysCookie, "off", zoneCookie, "Asia/Tokyo")); p.theme != "dark" || !p.noKeys || p.zone.String() != "Asia/Tokyo" {
		t.Errorf("got %+v", p)
	}
	for _, bad := range []string{"", "Local", "../../etc/passwd", "/etc/localtime", "No/Where", "\\\\host\\share", "x\" onload=alert(1)"} {
		if p := readPrefs(withCookies(themeCookie, bad, keysCookie, bad, zoneCookie, bad)); p.theme != "" || p.noKeys || p.zone != time.Local {
			t.Errorf("%q: got %+v, want what nobody has asked for", bad, p)
		}
	}
}

func TestOurs(t *testing.T) {
	for path, want := range map[string]bool{
		"/ui/": true, "/ui/runs?status=failed": true, "/ui/runs/a%2Fb": true, "": false, "/": false, "/v1/runs": false, "//evil.example/ui/": false,
		"https://evil.example/ui/": false, "/ui/../v1": false, "/ui/%2e%2e/v1": false, "/ui/\\evil": false, "/ui/\r\nX: y": false, "javascript:/ui/": false, "/uix": false,
	} {
		if got := ours(path); got != want {
			t.Errorf("%q: got %v, want %v", path, got, want)
		}
	}
}
