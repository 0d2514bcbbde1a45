package ui

// What is kept of visitors is bounded, ends, and cannot be made up.

import (
	"fmt"
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

// TestLeft: what is kept of sessions that were logged out is bounded.
func TestLeft(t *testing.T) {
	var l left
	now := time.Now()
	if l.has("first") {
		t.Error("a session is left that nobody ended")
	}
	l.add("first", now)
	if !l.has("first") || l.has("second") {
		t.Error("want the one that was ended, and no other")
	}
	for i := range mostLeft {
		l.add(fmt.Sprint("s", i), now.Add(time.Duration(i+1)*time.Millisecond))
	}
	if len(l.all) != mostLeft || l.has("first") {
		t.Errorf("got %d, want %d, without the one that ends first", len(l.all), mostLeft)
	}
	l.add("last", now.Add(2*sessionTime))
	if len(l.all) != 1 {
		t.Errorf("got %d, want those gone whose time is over", len(l.all))
	}
}

func TestTokens(t *testing.T) {
	a, b := &UI{secret: []byte{1}}, &UI{secret: []byte{2}}
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
