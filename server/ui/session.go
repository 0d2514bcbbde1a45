package ui

// This file lets visitors in: a key is exchanged for a session in a cookie. The server keeps none: what is in the cookie tells who it is, on each
// server with the same keys and after a restart. A session ends with its time, with its key, or when its owner logs out, on the server where that is.

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

const (
	sessionCookie = "stepwell_session"
	sessionTime   = 12 * time.Hour
	mostLeft      = 4096
)

// left are the sessions that were logged out here, by their hashes: a copy of a cookie opens nothing any more.
type left struct {
	mu  sync.Mutex
	all map[[sha256.Size]byte]time.Time // when each would end
}

// add notes one. Where there are too many, those that are over go, and else the one that ends first.
func (l *left) add(session string, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.all == nil {
		l.all = map[[sha256.Size]byte]time.Time{}
	}
	if len(l.all) >= mostLeft {
		var first [sha256.Size]byte
		var ends time.Time
		for key, until := range l.all {
			if !until.After(now) {
				delete(l.all, key)
			} else if ends.IsZero() || until.Before(ends) {
				first, ends = key, until
			}
		}
		if len(l.all) >= mostLeft {
			delete(l.all, first)
		}
	}
	l.all[sha256.Sum256([]byte(session))] = now.Add(sessionTime)
}

func (l *left) has(session string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, has := l.all[sha256.Sum256([]byte(session))]
	return has
}

// visitor is the session of a request, and whose it is; "" and nil where there is none.
func (u *UI) visitor(r *http.Request, now time.Time) (session string, who *Who) {
	for _, c := range r.CookiesNamed(cookieName(r)) {
		if is, ok := u.host.Visitor(c.Value, now); ok && !u.left.has(c.Value) {
			return c.Value, &is
		}
	}
	return "", nil
}

// token is what the forms of a session have: a page of another origin cannot know it.
func (u *UI) token(session string) string {
	h := hmac.New(sha256.New, u.secret)
	h.Write([]byte(session))
	return base64.RawURLEncoding.EncodeToString(h.Sum(nil))
}

func (u *UI) tokenFits(session, token string) bool {
	return hmac.Equal([]byte(u.token(session)), []byte(token))
}

// secure reports whether the visitor's connection is encrypted, as far as to the proxy in front.
func secure(r *http.Request) bool {
	return r.TLS != nil || strings.EqualFold(r.Header.Get("X-Forwarded-Proto"), "https")
}

// cookieName is what the cookie is called: where the connection is encrypted, browsers hold to what its first letters say: it is of this host alone.
func cookieName(r *http.Request) string {
	if secure(r) {
		return "__Host-" + sessionCookie
	}
	return sessionCookie
}

func sessionCookieOf(r *http.Request, id string, age time.Duration) *http.Cookie {
	seconds := int(age / time.Second)
	if age <= 0 {
		seconds = -1
	}
	path := Base
	if secure(r) {
		path = "/" // __Host- wants it
	}
	return &http.Cookie{
		Name: cookieName(r), Value: id, Path: path, MaxAge: seconds, HttpOnly: true, Secure: secure(r), SameSite: http.SameSiteStrictMode,
	}
}

// loginPage is what the page has that takes a key.
type loginPage struct {
	Next  string
	Wrong bool
}

func (u *UI) loginForm(v *visit) error {
	next := v.URL.Query().Get("next")
	if !ours(next) {
		next = Base
	}
	if v.who != nil {
		v.redirect(next)
		return nil
	}
	v.draw(http.StatusOK, "login", "Log in", loginPage{Next: next})
	return nil
}

func (u *UI) login(v *visit) error {
	next := v.Form.Get("next")
	if !ours(next) {
		next = Base
	}
	from := v.RemoteAddr
	if host, _, err := net.SplitHostPort(from); err == nil {
		from = host
	}
	if d := u.wrong.wait(from, time.Now()); d > 0 {
		v.w.Header().Set("Retry-After", strconv.Itoa(int((d+time.Second-1)/time.Second)))
		v.draw(http.StatusTooManyRequests, "login", "Log in", loginPage{Next: next, Wrong: true})
		return nil
	}
	secret := strings.TrimSpace(v.Form.Get("key"))
	who, ok := u.host.Identify(secret)
	u.wrong.note(from, ok, time.Now())
	if !ok {
		u.host.Audit(v.Request, "anonymous", "ui login", "", errWrongKey)
		v.draw(http.StatusUnauthorized, "login", "Log in", loginPage{Next: next, Wrong: true})
		return nil
	}
	session, err := u.host.Session(secret, time.Now().Add(sessionTime))
	if err != nil {
		return err
	}
	if v.session != "" {
		u.left.add(v.session, time.Now())
	}
	u.host.Audit(v.Request, who.Name, "ui login", "", nil)
	http.SetCookie(v.w, sessionCookieOf(v.Request, session, sessionTime))
	v.redirect(next)
	return nil
}

func (u *UI) logout(v *visit) error {
	u.left.add(v.session, time.Now())
	http.SetCookie(v.w, sessionCookieOf(v.Request, "", 0))
	v.redirect(Base + "login")
	return nil
}
