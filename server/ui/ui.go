package ui

// This file holds the handler itself: how a request comes to its page, and what all answers have.

import (
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/acting"
	"github.com/stepwell/stepwell/api"
	"github.com/stepwell/stepwell/internal/human"
	"github.com/stepwell/stepwell/internal/operate"
	"github.com/stepwell/stepwell/world"
)

// Base is the path of all pages.
const Base = "/ui/"

// UI is the [http.Handler] of the pages. It is safe for concurrent use.
type UI struct {
	app     *stepwell.App
	world   world.World
	host    Host
	api     api.Caller
	mux     *http.ServeMux
	left    left
	wrong   wrongKeys
	secret  []byte // it signs the tokens of forms
	history history
}

// New makes the pages of an App; their forms call operations by c. It starts nothing.
func New(app *stepwell.App, c api.Caller, host Host) *UI {
	u := &UI{app: app, world: app.World(), api: c, host: host, mux: http.NewServeMux()}
	if u.secret = host.FormSecret(); u.secret == nil { // that of this process
		u.secret = make([]byte, 32)
		rand.Read(u.secret) // never fails, says crypto/rand
	}
	for _, rt := range routes() {
		u.mux.Handle(rt.method+" "+rt.path, u.at(rt))
	}
	u.mux.HandleFunc(Base, func(w http.ResponseWriter, r *http.Request) {
		v := u.visit(w, r)
		if v.who == nil {
			v.toLogin()
			return
		}
		v.refuse(errNoPage)
	})
	return u
}

// ServeHTTP answers one request. The server refuses requests from other origins before.
func (u *UI) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	for name, value := range pageHeaders {
		w.Header().Set(name, value)
	}
	if secure(r) { // browsers complain elsewhere
		w.Header().Set("Cross-Origin-Opener-Policy", "same-origin")
	}
	u.mux.ServeHTTP(w, r)
}

// pageHeaders are on each page: it loads and runs what this server has, nothing that stands in the page itself, and nobody may frame it.
var pageHeaders = map[string]string{
	"Cache-Control": "no-store",
	"Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; " +
		"base-uri 'none'; frame-ancestors 'none'",
	"Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}

var (
	errNoPage   = fmt.Errorf("%w: there is no such page", world.ErrNotFound)
	errLevel    = error(forbidden("your key does not allow this"))
	errWrongKey = fmt.Errorf("%w: no such key", errLevel)
	errForm     = error(forbidden("this form belongs to another session, or to one before the server had other keys: go back, reload the page, and send it again"))
)

// route is one page.
type route struct {
	method string
	path   string
	least  Level
	open   bool // nobody needs to be logged in
	quiet  bool // it changes nothing that is worth noting
	handle func(u *UI, v *visit) error
	fields []string // fields of its form: see check; of a GET, nil: any
}

// check refuses fields that a form does not have, or has once: a mistyped one would count as one that is empty. Of the
// fields of a route, one that ends in . is how names begin, and one that ends in * may be there several times.
func (rt *route) check(form url.Values) error {
	for name, texts := range form {
		at := slices.IndexFunc(rt.fields, func(known string) bool {
			return strings.TrimSuffix(known, "*") == name || strings.HasSuffix(known, ".") && strings.HasPrefix(name, known)
		})
		switch {
		case at < 0:
			return fmt.Errorf("%w: the form has no field %.100q", world.ErrInvalid, name)
		case len(texts) > 1 && !strings.HasSuffix(rt.fields[at], "*"):
			return fmt.Errorf("%w: the field %.100s is there %d times", world.ErrInvalid, name, len(texts))
		}
	}
	return nil
}

// visit is one request for a page.
type visit struct {
	*http.Request
	u       *UI
	w       http.ResponseWriter
	who     *Who // nil: nobody is logged in
	session string
	now     time.Time // in the visitor's time zone
	prefs   prefs
	begun   bool // the answer is being written
	deed    deed
	waits   *operate.Waits // nil: no run was listed yet
}

// deed is what the audit log has of a form besides its address.
type deed struct {
	asked   bool   // it was a question: nothing is done
	run     string // that was begun
	refused error  // the form is shown once more
	more    []any  // as slog takes it
}

func (u *UI) visit(w http.ResponseWriter, r *http.Request) *visit {
	v := &visit{Request: r, u: u, w: w, prefs: readPrefs(r)}
	v.now = world.Now().In(v.prefs.zone)
	v.session, v.who = u.visitor(r, time.Now())
	if !u.host.Locked() {
		v.who = &Who{Level: Admin}
	}
	return v
}

// forbidden is a [world.ErrForbidden] in the words of a page: the audit log knows it by that.
type forbidden string

func (f forbidden) Error() string { return string(f) }

// Is implements what [errors.Is] asks.
func (forbidden) Is(err error) bool { return err == world.ErrForbidden }

// may reports whether the visitor has a level.
func (v *visit) may(l Level) bool { return v.who != nil && v.who.Level >= l }

// at is the handler of a page.
func (u *UI) at(rt route) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		v := u.visit(w, r)
		var err error
		switch {
		case v.who == nil && !rt.open:
			v.toLogin()
			return
		case !rt.open && !v.may(rt.least):
			err = fmt.Errorf("%w: it is of scope %s, and this needs %s", errLevel, v.who.Level, rt.least)
		case rt.method == http.MethodPost:
			done, bad := v.readForm(!rt.open)
			defer done()
			if err = bad; err == nil {
				err = rt.check(v.Form)
			}
		case rt.fields != nil:
			err = rt.check(r.URL.Query())
		}
		if err == nil {
			if v.who != nil && v.who.Name != "" {
				v.Request = r.WithContext(acting.For(r.Context(), v.who.Name))
			}
			err = rt.handle(u, v)
		}
		if rt.method == http.MethodPost && !rt.quiet {
			v.audit(rt, err)
		}
		if err != nil {
			v.refuse(err)
		}
	})
}

// mostReason is how many characters of a reason the audit log has.
const mostReason = 300

func (v *visit) audit(rt route, err error) {
	name := "anonymous"
	if v.who != nil && v.who.Name != "" {
		name = v.who.Name
	}
	what := strings.TrimPrefix(rt.path, Base)
	if at := strings.LastIndexByte(what, '/'); at >= 0 {
		what = what[at+1:]
	}
	if act := v.PathValue("act"); act != "" {
		what = act
	}
	if rt.path == Base+"runs/act" {
		what = "bulk"
	}
	if v.Form.Get("force") != "" {
		what = "force " + what
	}
	if err = cmp.Or(err, v.deed.refused); err == nil && v.deed.asked {
		return
	}
	if reason := cmp.Or(v.Form.Get("reason"), v.Form.Get("note")); reason != "" {
		v.deed.more = append(v.deed.more, "reason", human.Cut(reason, mostReason))
	}
	v.u.host.Audit(v.Request, name, "ui "+what, cmp.Or(v.PathValue("run"), v.deed.run), err, v.deed.more...)
}

// wider is how much longer a form may be than what is in it: as it is sent a byte may take three, and what is too long is shown once more, to be mended.
const wider = 4

// mostOpenForm is how many bytes a form may have of who has not logged in.
const mostOpenForm = 16 << 10

// readForm reads the body and checks the token that each form has. known: the visitor is. done gives the body's room back.
func (v *visit) readForm(known bool) (done func(), err error) {
	read, _ := v.u.host.Patience()
	rc := http.NewResponseController(v.w)
	_ = rc.SetReadDeadline(time.Now().Add(read)) // not every ResponseWriter has deadlines
	most, who := int64(mostOpenForm), ""
	if known {
		most, who = v.u.host.MaxBody()*wider, v.who.Name
	}
	body, done := v.u.host.Body(v.Request, who, v.Body, most)
	v.Body = http.MaxBytesReader(v.w, body, most)
	return done, v.parseForm(rc)
}

func (v *visit) parseForm(rc *http.ResponseController) error {
	if err := v.ParseForm(); err != nil {
		var more *http.MaxBytesError
		if errors.As(err, &more) {
			return fmt.Errorf("%w: the form has more than %d bytes; nothing was sent, and the form is still there if you go back in the browser", world.ErrTooLarge, more.Limit)
		}
		return fmt.Errorf("%w: the form: %w", world.ErrInvalid, err)
	}
	_ = rc.SetReadDeadline(time.Time{})
	v.Form = v.PostForm // what stands in the address does not count
	for name, texts := range v.Form {
		if name != "payload" && name != "input" && name != "results" && int64(len(strings.Join(texts, ""))) > v.u.host.MaxBody() { // those are told beside their form
			return fmt.Errorf("%w: %.40s has more than %d bytes", world.ErrTooLarge, name, v.u.host.MaxBody())
		}
	}
	if !v.u.tokenFits(v.session, v.Form.Get("token")) {
		return errForm
	}
	return nil
}

// refuse answers with what went wrong, as a page.
func (v *visit) refuse(err error) {
	if v.begun {
		panic(http.ErrAbortHandler) // half a page must not be taken for a whole one
	}
	if v.Context().Err() != nil && errors.Is(err, v.Context().Err()) {
		return // nobody is there to be told
	}
	is := Refusal{Status: http.StatusForbidden, Title: "Not allowed", Detail: err.Error()}
	switch {
	case errors.Is(err, errNoPage):
		is = Refusal{Status: http.StatusNotFound, Title: "There is no such page"}
	case !errors.Is(err, errLevel) && !errors.Is(err, errForm):
		is = v.u.host.Refused(v.Request, err)
	}
	back := Base
	if run := v.PathValue("run"); run != "" && is.Status != http.StatusNotFound {
		back = runPath(run)
	}
	v.draw(is.Status, "refused", is.Title, struct {
		Refusal
		Back string
	}{is, back})
}

// toLogin sends a visitor to the page that takes a key, and from there back.
func (v *visit) toLogin() {
	if v.Header.Get("Sec-Fetch-Site") == "cross-site" && v.Method == http.MethodGet {
		// Whoever follows a link from elsewhere has no cookie on this request, but on the next one, which comes from here.
		v.draw(http.StatusOK, "again", "One moment", v.URL.RequestURI())
		return
	}
	next := Base
	if v.Method == http.MethodGet {
		next = v.URL.RequestURI()
	}
	v.redirect(Base + "login?next=" + url.QueryEscape(next))
}

func (v *visit) redirect(to string) { http.Redirect(v.w, v.Request, to, http.StatusSeeOther) }

// ours reports whether an address is a page of ours.
func ours(path string) bool {
	at, err := url.Parse(path)
	return err == nil && !strings.Contains(at.Path, "..") && at.Scheme == "" && at.Host == "" && at.User == nil && strings.HasPrefix(at.Path, Base) && strings.HasPrefix(path, Base) &&
		!strings.ContainsAny(path, "\\\r\n")
}
