package ui

// This file lets visitors in: a key is exchanged for a session, whose random ID is in a cookie. Of IDs only hashes are kept, in memory alone: a
// session ends with its time, with the server, or when its owner logs out.

import (
	"crypto/hmac"
	"crypto/rand"
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
	mostSessions  = 4096
)

// session is one visitor who has shown a key.
type session struct {
	who   Who
	until time.Time
}

type sessions struct {
	mu  sync.Mutex
	all map[[sha256.Size]byte]session
}

// begin makes a session and returns its ID. Where there are too many, the one that ends first has to go.
func (s *sessions) begin(who Who, now time.Time) string {
	id := rand.Text()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.all == nil {
		s.all = map[[sha256.Size]byte]session{}
	}
	if len(s.all) >= mostSessions {
		s.makeRoom(now)
	}
	s.all[sha256.Sum256([]byte(id))] = session{who, now.Add(sessionTime)}
	return id
}

func (s *sessions) makeRoom(now time.Time) {
	var first [sha256.Size]byte
	var ends time.Time
	for key, is := range s.all {
		if !is.until.After(now) {
			delete(s.all, key)
		} else if ends.IsZero() || is.until.Before(ends) {
			first, ends = key, is.until
		}
	}
	if len(s.all) >= mostSessions {
		delete(s.all, first)
	}
}

// find returns the session of a request; "" and nil where there is none.
func (s *sessions) find(r *http.Request, now time.Time) (id string, who *Who) {
	for _, c := range r.CookiesNamed(cookieName(r)) {
		s.mu.Lock()
		is, ok := s.all[sha256.Sum256([]byte(c.Value))]
		s.mu.Unlock()
		if ok && is.until.After(now) {
			return c.Value, &is.who
		}
	}
	return "", nil
}

func (s *sessions) end(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.all, sha256.Sum256([]byte(id)))
}

// token is what the forms of a session have: a page of another origin cannot know it.
func (u *UI) token(session string) string {
	h := hmac.New(sha256.New, u.secret[:])
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
	who, ok := u.host.Identify(strings.TrimSpace(v.Form.Get("key")))
	u.wrong.note(from, ok, time.Now())
	if !ok {
		u.host.Audit(v.Request, "anonymous", "ui login", "", errWrongKey)
		v.draw(http.StatusUnauthorized, "login", "Log in", loginPage{Next: next, Wrong: true})
		return nil
	}
	if v.session != "" {
		u.sessions.end(v.session)
	}
	u.host.Audit(v.Request, who.Name, "ui login", "", nil)
	http.SetCookie(v.w, sessionCookieOf(v.Request, u.sessions.begin(who, time.Now()), sessionTime))
	v.redirect(next)
	return nil
}

func (u *UI) logout(v *visit) error {
	u.sessions.end(v.session)
	http.SetCookie(v.w, sessionCookieOf(v.Request, "", 0))
	v.redirect(Base + "login")
	return nil
}
