package codec

// This file turns a Go error into what the log keeps of it, within bounds.

import (
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/stepwell/stepwell/world"
)

// Bounds of an error in the log.
const (
	MaxMessage    = 8 << 10  // bytes of one message
	MaxError      = 64 << 10 // bytes of the whole as JSON
	MaxDepth      = 32       // causes of causes
	maxErrorValue = 16 << 10 // bytes of a registered type as JSON
	maxCauses     = 256      // in the whole tree
	nodeOverhead  = 160      // bytes of JSON around the strings of one error, at most
	reserve       = 2 << 10  // of MaxError, for what the engine adds: where, code
)

// FromError returns what the log keeps of an error: Go type or registered name, message, code (of a method Code() string; the
// error's own, or else the first among its causes), place (of a method Where() string, or of a stack that it carries; the innermost's), and the tree
// of causes, errors.Join's too. Names come from reg, which may be nil. The result is at most [MaxError] bytes as JSON; what was cut says so, and
// a registered value that is too large is kept as its message only. Chains that lead back to themselves are safe. An error that came
// from the log is given back as it was. nil gives nil.
func FromError(err error, reg *Registry) *world.Error {
	if err == nil {
		return nil
	}
	if rec := record(err); rec != nil && fits(rec) {
		return rec
	}
	w := writer{reg: reg, left: MaxError - reserve, nodes: maxCauses}
	e := w.write(err, 0)
	if e.Code == "" {
		e.Code = first(e.Causes, func(e *world.Error) string { return e.Code })
	}
	e.Where = arose(e)
	return e
}

// writer keeps count of the room that is left.
type writer struct {
	reg   *Registry
	left  int
	nodes int
	path  []error // from the outermost error to this one
}

func (w *writer) write(err error, depth int) *world.Error {
	w.nodes--
	w.left -= nodeOverhead
	if rec := record(err); rec != nil {
		return w.copy(rec, depth)
	}
	e := &world.Error{Name: fmt.Sprintf("%T", err), Code: codeOf(err), Where: whereOf(err)}
	name, value := w.reg.identify(err)
	if name != "" && jsonSize(string(value)) <= w.left/2 {
		e.Name, e.Value = name, value
		w.left -= jsonSize(string(value))
	}
	e.Matches = w.reg.matches(err)
	w.bound(e, message(err))
	if c, ok := err.(*Error); ok {
		e.Permanent = true
		e.Code = c.Code
	}
	w.path = append(w.path, err)
	for _, cause := range causes(err) {
		if w.room(e, depth) && !w.onPath(cause) {
			e.Causes = append(e.Causes, w.write(cause, depth+1))
		}
	}
	w.path = w.path[:len(w.path)-1]
	return e
}

// copy bounds an error that came from the log, or was made for it.
func (w *writer) copy(rec *world.Error, depth int) *world.Error {
	e := *rec
	e.Causes, e.Value = nil, nil
	if n := jsonSize(string(rec.Value)); n <= w.left/2 {
		e.Value = rec.Value
		w.left -= n
	}
	w.bound(&e, rec.Message)
	for _, cause := range rec.Causes {
		if cause != nil && w.room(&e, depth) {
			w.nodes--
			w.left -= nodeOverhead
			e.Causes = append(e.Causes, w.copy(cause, depth+1))
		}
	}
	return &e
}

// bound cuts what has no natural end, and counts it.
func (w *writer) bound(e *world.Error, msg string) {
	e.Name = w.cut(e.Name, 512)
	e.Code = w.cut(e.Code, 128)
	e.Where = w.cut(e.Where, 1024)
	for i, m := range e.Matches {
		if w.left < jsonSize(m) {
			e.Matches = e.Matches[:i]
			break
		}
		w.left -= jsonSize(m) + 3
	}
	e.Message = w.cut(msg, MaxMessage)
	e.Stack = w.cut(e.Stack, MaxMessage)
}

// fits reports whether an error in the log's form is within all bounds.
func fits(rec *world.Error) bool {
	if deep(rec, 1) {
		return false
	}
	data, err := json.Marshal(rec)
	return err == nil && len(data) <= MaxError
}

// deep reports whether a tree is over a bound that its size does not tell.
func deep(rec *world.Error, depth int) bool {
	return depth > MaxDepth || len(rec.Message) > MaxMessage ||
		slices.ContainsFunc(rec.Causes, func(c *world.Error) bool { return c == nil || deep(c, depth+1) })
}

// room reports whether one more cause fits.
func (w *writer) room(e *world.Error, depth int) bool {
	return depth+1 < MaxDepth && w.nodes > 0 && w.left > 2*nodeOverhead
}

func (w *writer) onPath(err error) bool {
	return comparableError(err) && slices.ContainsFunc(w.path, func(p error) bool { return comparableError(p) && p == err })
}

// cutNote is what a text ends with that was cut.
const cutNote = "… (cut from %d bytes)"

// wholeSize is how many bytes a text had before it was cut first, and what is left of it.
func wholeSize(s string) (left string, size int) {
	if i := strings.LastIndex(s, "… (cut from "); i >= 0 {
		if n, err := fmt.Sscanf(s[i:], cutNote, &size); n == 1 && err == nil && s[i:] == fmt.Sprintf(cutNote, size) && size > i {
			return s[:i], size
		}
	}
	return s, len(s)
}

// cut shortens a text to limit bytes and to the room that is left, and says so in it, once: also where it was cut
// before and something was put around it.
func (w *writer) cut(s string, limit int) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	size := jsonSize(s)
	if len(s) <= limit && size <= w.left {
		w.left -= size
		return s
	}
	s, whole := wholeSize(s)
	note := fmt.Sprintf(cutNote, whole)
	n, room := 0, w.left-jsonSize(note)
	for n < len(s) {
		_, k := utf8.DecodeRuneInString(s[n:])
		if room -= jsonSize(s[n : n+k]); room < 0 || n+k > limit-len(note) {
			break
		}
		n += k
	}
	s = s[:n] + note
	w.left -= jsonSize(s)
	return s
}

// jsonSize is how many bytes a text takes in JSON, at most.
func jsonSize(s string) int {
	n := len(s)
	for i := range len(s) {
		switch c := s[i]; {
		case c < ' ', c == '<', c == '>', c == '&', c == 0xe2: // 0xe2 may begin U+2028
			n += 5
		case c == '"', c == '\\':
			n++
		}
	}
	return n
}

// message is the error's text; one whose Error method panics does not take the step with it.
func message(err error) (msg string) {
	defer func() {
		if p := recover(); p != nil {
			msg = fmt.Sprintf("%T: its Error method panicked: %v", err, p)
		}
	}()
	return err.Error()
}

func codeOf(err error) string {
	defer ignorePanic()
	if c, ok := err.(interface{ Code() string }); ok {
		return c.Code()
	}
	return ""
}

func whereOf(err error) string {
	defer ignorePanic()
	if w, ok := err.(interface{ Where() string }); ok {
		if at := w.Where(); at != "" {
			return at
		}
	}
	return stackOf(err)
}

// ignorePanic, deferred, makes a method of the author's that panics, as on a nil pointer, say nothing instead.
func ignorePanic() { _ = recover() }

// causes are the errors that err wraps, without the nil ones.
func causes(err error) []error {
	defer ignorePanic()
	var list []error
	switch x := err.(type) {
	case interface{ Thrown() error }: // a panic of the author's code
		list = []error{x.Thrown()}
	case interface{ Unwrap() error }:
		list = []error{x.Unwrap()}
	case interface{ Unwrap() []error }:
		list = x.Unwrap()
	}
	return slices.DeleteFunc(slices.Clone(list), func(e error) bool { return e == nil })
}

// arose is where an error began: the place of the innermost error that has one.
func arose(e *world.Error) string {
	for _, c := range e.Causes {
		if at := arose(c); at != "" {
			return at
		}
	}
	return e.Where
}

// first is the first text that one of the errors or their causes has.
func first(list []*world.Error, text func(*world.Error) string) string {
	for _, e := range list {
		if s := text(e); s != "" {
			return s
		}
		if s := first(e.Causes, text); s != "" {
			return s
		}
	}
	return ""
}

// all yields the known sentinels in the order of their names.
func (r *Registry) all() iter.Seq2[string, error] {
	known := maps.Clone(standard)
	maps.Copy(known, ownSentinels)
	if r != nil {
		maps.Copy(known, r.sentinels)
	}
	return func(yield func(string, error) bool) {
		for _, name := range slices.Sorted(maps.Keys(known)) {
			if !yield(name, known[name]) {
				return
			}
		}
	}
}
