package server

// This file reads requests: bodies, query parameters, durations and times. Whatever is not understood is refused.

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/stepwell/stepwell/internal/human"
	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/remote/wire"
)

// request is a request that its route has accepted.
type request struct {
	*http.Request
	route   *route
	key     *Key       // who asks; nil: nobody needs a key here
	query   url.Values // only parameters of the route
	body    []byte     // JSON, or empty where the route allows it
	created string     // the run that was begun or was there, or whose hook it is, for the audit log
	noted   []any      // what else that has of it

	max    int64
	bodies *room    // of all bodies
	holds  *arrives // what this one has of it; nil: it is not read
}

// leave gives back the room of the body.
func (r *request) leave() {
	if r.holds != nil {
		r.holds.leave()
	}
}

// who is the name of who asks, for what is shared out: the key, or the address.
func (r *request) who() string {
	if r.key != nil {
		return "key " + r.key.Name
	}
	return "address " + hostOf(r.RemoteAddr)
}

// by is who acts, as the log of a run has it: the key, and what its holder says to act through. No name of a key has
// blanks.
func (r *request) by() string {
	if what := through(r.Request); what != "" {
		return r.key.Name + wire.Through + what
	}
	return r.key.Name
}

// author is who acts, as what is stored has it, where the body says somebody. The name of the key is in it.
func (r *request) author(as string) string {
	switch {
	case r.key == nil:
		return as
	case r.people() || as == "" || through(r.Request) != "":
		return r.by()
	}
	return r.key.Name + wire.Through + said(as)
}

// maker is the author of a schedule or a subscription, and of the pause of a schedule: what a worker's own machinery
// does is its code's, or Stepwell's.
func (r *request) maker(as string) string {
	if r.sees(Worker) && (as == byCode || as == byStepwell) {
		return as
	}
	return r.author(as)
}

// Who acts where no person does.
const (
	byCode     = "code"
	byStepwell = "stepwell"
)

// through is what a caller says to act through, such as an assistant; "": nothing.
func through(r *http.Request) string {
	return said(r.Header.Get(wire.ThroughHeader))
}

// said is what others say of themselves as far as it is kept: so many characters, which can be printed.
func said(text string) string {
	text = strings.Map(func(c rune) rune {
		if unicode.IsPrint(c) {
			return c
		}
		return -1
	}, strings.ToValidUTF8(text, ""))
	return human.Cut(text, wire.MostThrough)
}

// sees reports whether who asks has at least a scope.
func (r *request) sees(s Scope) bool { return r.key == nil || r.key.Scope.covers(s) }

// people reports whether who asks is no worker, for all that is known: a worker makes what its code says.
func (r *request) people() bool { return r.key == nil || r.key.Scope != Worker }

// read checks the query and reads the body.
func (r *request) read(w http.ResponseWriter) error {
	if err := r.readQuery(); err != nil {
		return err
	}
	return r.readBody(w)
}

func (r *request) readQuery() error {
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return invalid("query: %v", err)
	}
	if err := r.route.op.checkQuery(query); err != nil {
		return err
	}
	r.query = query
	return nil
}

// checkQuery refuses parameters that are not known, or are there twice.
func (o *operation) checkQuery(query url.Values) error {
	for name, values := range query {
		p := o.param(name)
		switch {
		case p == nil:
			return invalid("unknown query parameter %.100q", name)
		case !p.many && len(values) > 1:
			return invalid("query parameter %.100s is there %d times", name, len(values))
		}
		for _, v := range values {
			if !utf8.ValidString(v) {
				return invalid("query parameter %.100q: not valid UTF-8", name)
			}
		}
	}
	return nil
}

// bytes reads the body, whatever it is.
func (r *request) bytes(w http.ResponseWriter) ([]byte, error) {
	if r.ContentLength > r.max {
		return nil, tooLarge(r.max)
	}
	r.holds = r.bodies.arrives(r.Context(), r.who(), http.MaxBytesReader(w, r.Body, r.max), r.ContentLength, r.max+1)
	body, err := readAll(r.holds, r.ContentLength)
	var more *http.MaxBytesError
	switch {
	case errors.Is(err, errCrowded), errors.Is(err, context.Canceled):
		return nil, err
	case errors.As(err, &more):
		return nil, tooLarge(more.Limit)
	case errors.Is(err, os.ErrDeadlineExceeded):
		return nil, errSlow
	case err != nil:
		return nil, invalid("the body ended too early: %v", err)
	}
	return body, nil
}

// readAll reads a body to its end. Where its length is said, its room grows with what came and never beyond that.
func readAll(from io.Reader, length int64) ([]byte, error) {
	const first = 16 << 10
	if length < first {
		return io.ReadAll(from)
	}
	for b := make([]byte, 0, first); ; {
		if len(b) == cap(b) { // the last byte is for the end
			room := 2 * int64(cap(b))
			if length >= int64(cap(b)) {
				room = min(room, length+1)
			}
			b = append(make([]byte, 0, room), b...)
		}
		n, err := from.Read(b[len(b):cap(b)])
		b = b[:len(b)+n]
		if errors.Is(err, io.EOF) {
			return b, nil
		}
		if err != nil {
			return b, err
		}
	}
}

func (r *request) readBody(w http.ResponseWriter) error {
	body, err := r.bytes(w)
	if err != nil {
		return err
	}
	op := &r.route.op
	body = bytes.TrimSpace(body)
	switch {
	case len(body) == 0 && (op.body == "" || op.optional):
		return nil
	case len(body) == 0:
		return invalid("there is no body; want JSON")
	case op.body == "":
		return invalid("this takes no body")
	}
	if !isJSON(r.Header) && !r.byProgram() {
		return errMedia
	}
	r.body = body
	if r.route.wire != nil {
		return nil // decodeWire checks it
	}
	return world.CheckJSON("the body", body)
}

// isJSON reports whether a body says that it is JSON.
func isJSON(h http.Header) bool {
	media, _, err := mime.ParseMediaType(h.Get("Content-Type"))
	return err == nil && media == "application/json"
}

// byProgram reports whether a body that does not say what it is, or says that it is a form, as curl -d has it say, was
// sent by a program that means JSON, and not by a page. The type is one that a page may send to any server without
// asking, in its visitor's name; so it is taken only with what no page can send without asking: a key in the header, or
// the name of a program in User-Agent. A form can have neither, and a script of another origin is asked for leave
// first, which nobody gives here; a page of this origin has no key to put there. No cookie counts as a key. What
// browsers add to what pages send, an origin, a referrer, a site or a cookie, must not be there either: then it is none
// of theirs, whatever it says.
func (r *request) byProgram() bool {
	agent := r.Header.Get("User-Agent")
	if r.key == nil && !strings.HasPrefix(agent, "curl/") && !strings.HasPrefix(agent, "Wget/") {
		return false
	}
	for name := range r.Header {
		if name == "Origin" || name == "Referer" || name == "Cookie" || strings.HasPrefix(name, "Sec-Fetch-") {
			return false
		}
	}
	types := r.Header.Values("Content-Type")
	return len(types) == 0 || len(types) == 1 && types[0] == "application/x-www-form-urlencoded"
}

func tooLarge(limit int64) error {
	return fmt.Errorf("%w: the body has more than %d bytes", world.ErrTooLarge, limit)
}

// decode reads the body into a struct; an empty body leaves it as it is.
func (r *request) decode(into any) error {
	if len(r.body) == 0 {
		return nil
	}
	return decodeJSON(r.body, into, false)
}

// payload is the body as it is, or null.
func (r *request) payload() json.RawMessage {
	if len(r.body) == 0 {
		return json.RawMessage("null")
	}
	return r.body
}

// idempotencyKey is the header's value, or "".
func (r *request) idempotencyKey() (string, error) {
	values := r.Header.Values("Idempotency-Key")
	if len(values) > 1 {
		return "", invalid("the header Idempotency-Key is there %d times", len(values))
	}
	if len(values) == 0 {
		return "", nil
	}
	return values[0], world.CheckKey("the header Idempotency-Key:", values[0])
}

// number reads a query parameter: def where it is not there.
func (r *request) number(name string, def, most int) (int, error) {
	text := r.query.Get(name)
	if !r.query.Has(name) {
		return def, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > most {
		return 0, invalid("query parameter %s is %.40q: want a number from 1 to %d", name, text, most)
	}
	return n, nil
}

// flag reads a query parameter that is true or false.
func (r *request) flag(name string, def bool) (bool, error) {
	switch text := r.query.Get(name); {
	case !r.query.Has(name):
		return def, nil
	case text == "true":
		return true, nil
	case text == "false":
		return false, nil
	default:
		return false, invalid("query parameter %s is %.40q: want true or false", name, text)
	}
}

// words reads a query parameter that may be repeated and may have several values with commas.
func words(query url.Values, name string) (words []string) {
	for _, v := range query[name] {
		words = append(words, strings.Split(v, ",")...)
	}
	return words
}

// moment reads a time as people write it, in UTC where no zone is said.
func moment(what, text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	t, err := human.ParseMoment(text, now, time.UTC)
	if err != nil {
		return t, invalid("%s is %.40q: %v", what, text, err)
	}
	return t, world.CheckTime(what, t)
}

// ParseDuration parses a duration in the API's format: 90s, 5m, 36h, 7d, 1d12h, 250ms. Negative
// ones are refused.
func ParseDuration(text string) (time.Duration, error) {
	d, err := human.ParseSpan(text)
	if err != nil {
		return 0, invalid("duration %.40q: %v", text, err)
	}
	return d, nil
}

// invalid is an error about the request.
func invalid(format string, args ...any) error {
	return fmt.Errorf("%w: %s", world.ErrInvalid, fmt.Sprintf(format, args...))
}
