package layout

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/stepwell/stepwell/world"
)

// DecodeRow parses what [AppendRow] wrote: the events, numbered from first, the commit's ID and its
// build. Strings of the events may share memory with head, and payloads with body. An unknown
// format is [world.ErrFormat]; other invalid data is [world.ErrCorrupt]. It never panics.
func DecodeRow(run string, birth time.Time, first int64, format int, head string, body []byte) (events []world.Event, id [16]byte, build string, err error) {
	if format != world.LogFormat {
		return nil, id, "", fmt.Errorf("run %s: event %d: %w %d; this release knows %d", run, first, world.ErrFormat, format, world.LogFormat)
	}
	r := rowReader{s: head, body: body, first: first}
	stamp(&r.birth, birth)
	if !birth.IsZero() {
		r.since = birth.UnixMicro()
	}
	r.base = r.since
	if err := r.row(); err != nil {
		return nil, id, "", &world.CorruptError{Run: run, Seq: first + int64(len(r.events)), Err: err}
	}
	for i := range r.events {
		r.events[i].Build = r.build
	}
	return r.events, r.id, r.build, nil
}

type rowReader struct {
	s      string
	i      int
	body   []byte
	first  int64
	birth  [10]byte
	id     [16]byte
	build  string
	since  int64 // the birth, µs
	base   int64 // the first event, µs
	events []world.Event

	// The ID made last: the events of one commit are often about one entity.
	lastPrefix, lastTail, lastID string
}

var errRow = errors.New("head is not what a commit writes")

func (r *rowReader) row() error {
	err := r.object(func(key string) error {
		switch key {
		case "c":
			s, err := r.text()
			if err != nil {
				return err
			}
			if n, err := base64.RawStdEncoding.Decode(r.id[:], []byte(pad22(s))); err != nil || n != 16 || len(s) != 22 {
				return fmt.Errorf("%w: commit ID", errRow)
			}
			return nil
		case "b":
			return r.textTo(&r.build)
		case "s":
			err := r.number(&r.base)
			r.base += r.since
			return err
		case "t":
			return r.number(&r.base)
		case "e":
			return r.list()
		}
		return fmt.Errorf("%w: member %q", errRow, key)
	})
	switch {
	case err != nil:
		return err
	case r.i != len(r.s):
		return fmt.Errorf("%w: something follows it", errRow)
	case len(r.events) == 0:
		return fmt.Errorf("%w: no events", errRow)
	}
	return nil
}

// pad22 cuts what is longer than an encoded commit ID, which does not decode then.
func pad22(s string) string {
	if len(s) > 22 {
		return s[:21]
	}
	return s
}

func (r *rowReader) list() error {
	if !r.skip('[') || r.events != nil {
		return fmt.Errorf("%w: events", errRow)
	}
	r.events = make([]world.Event, 0, strings.Count(r.s[r.i:], `{"y":`))
	for {
		r.events = append(r.events, world.Event{Seq: r.first + int64(len(r.events)), Commit: r.first})
		if err := r.event(&r.events[len(r.events)-1]); err != nil {
			r.events = r.events[:len(r.events)-1]
			return err
		}
		switch {
		case r.skip(','):
		case r.skip(']'):
			return nil
		default:
			return fmt.Errorf("%w: at byte %d", errRow, r.i)
		}
	}
}

func (r *rowReader) event(e *world.Event) error {
	var after int64
	var attrs map[string]json.RawMessage
	offset, length := int64(-1), int64(-1)
	err := r.object(func(key string) (err error) {
		switch key {
		case "y":
			return r.textTo((*string)(&e.Type))
		case "t":
			return r.number(&after)
		case "w":
			return r.time(&e.OccurredAt)
		case "i":
			return r.shortID(e)
		case "id":
			return r.textTo(&e.ID)
		case "d":
			return r.textTo(&e.Delivery)
		case "k":
			return r.textTo((*string)(&e.Kind))
		case "n":
			return r.textTo(&e.Name)
		case "p":
			return r.textTo(&e.Path)
		case "c":
			return r.int(&e.Occurrence)
		case "a":
			return r.int(&e.Attempt)
		case "q":
			return r.flag(&e.Queued)
		case "ld":
			return r.flag(&e.Listened)
		case "mp":
			return r.int(&e.MaxPayload)
		case "mv":
			return r.int(&e.MaxValue)
		case "o":
			return r.number(&offset)
		case "l":
			return r.number(&length)
		case "r":
			return r.time(&e.RetryAt)
		case "u":
			return r.time(&e.Until)
		case "m":
			return r.slice((*[]byte)(&e.Match))
		case "x":
			return r.textTo((*string)(&e.Outcome))
		case "f":
			return r.number(&e.From)
		case "h":
			return r.textTo(&e.Token)
		case "ch":
			return r.flag(&e.Chosen)
		case "g":
			return r.textTo(&e.Peer)
		case "by":
			return r.textTo(&e.By)
		case "s":
			return r.textTo(&e.Reason)
		case "v":
			return r.int(&e.Version)
		case "z":
			return r.textTo(&e.Encrypted)
		case "e":
			return r.json(&e.Error)
		case "b":
			return r.readBirth(&e.Birth)
		case "nx":
			return r.json(&e.Next)
		case "ls":
			return r.json(&e.Listen)
		case "pl":
			var p stepPlaces
			err := r.json(&p)
			e.Places = p.Of
			return err
		case "va":
			return r.textTo(&e.Apart)
		case "at":
			return r.attributes(&attrs)
		}
		return fmt.Errorf("%w: member %q of an event", errRow, key)
	})
	if err != nil {
		return err
	}
	if e.Type == "" {
		return fmt.Errorf("%w: event without a type", errRow)
	}
	e.Time = world.FromMicro(r.base + after)
	if offset >= 0 || length >= 0 {
		if err := r.cut((*[]byte)(&e.Payload), offset, length); err != nil {
			return err
		}
	}
	return setAttributes(e, attrs)
}

func setAttributes(e *world.Event, attrs map[string]json.RawMessage) error {
	switch {
	case attrs == nil:
	case e.Birth != nil:
		e.Birth.Attributes = attrs
	case e.Next != nil:
		e.Next.Attributes = attrs
	default:
		return fmt.Errorf("%w: attributes of %s", errRow, e.Type)
	}
	return nil
}

// shortID makes an ID whole. The type has been read: it comes first.
func (r *rowReader) shortID(e *world.Event) error {
	tail, err := r.text()
	prefix := idPrefix(e.Type)
	if err != nil || prefix == "" || len(tail) != 16 {
		return fmt.Errorf("%w: short ID of %s", errRow, e.Type)
	}
	if prefix != r.lastPrefix || tail != r.lastTail {
		var buf [40]byte
		b := append(append(append(buf[:0], prefix...), r.birth[:]...), tail...)
		r.lastPrefix, r.lastTail, r.lastID = prefix, tail, string(b)
	}
	e.ID = r.lastID
	return nil
}

func (r *rowReader) attributes(m *map[string]json.RawMessage) error {
	*m = map[string]json.RawMessage{}
	return r.object(func(name string) error {
		var b []byte
		if err := r.slice(&b); err != nil {
			return err
		}
		(*m)[name] = b
		return nil
	})
}

// slice reads [offset, length], or null.
func (r *rowReader) slice(b *[]byte) error {
	if strings.HasPrefix(r.s[r.i:], "null") {
		r.i += len("null")
		return nil
	}
	var offset, length int64
	if !r.skip('[') || r.number(&offset) != nil || !r.skip(',') || r.number(&length) != nil || !r.skip(']') {
		return fmt.Errorf("%w: at byte %d", errRow, r.i)
	}
	return r.cut(b, offset, length)
}

func (r *rowReader) cut(b *[]byte, offset, length int64) error {
	size := int64(len(r.body))
	if offset < 0 || length < 0 || offset > size || length > size-offset {
		return fmt.Errorf("payload at %d with %d bytes is outside a body of %d", offset, length, size)
	}
	*b = r.body[offset : offset+length : offset+length]
	if *b == nil {
		*b = []byte{}
	}
	return nil
}

// object reads an object and calls member behind each key.
func (r *rowReader) object(member func(key string) error) error {
	if !r.skip('{') {
		return fmt.Errorf("%w: at byte %d", errRow, r.i)
	}
	if r.skip('}') {
		return nil
	}
	for {
		key, err := r.text()
		if err != nil {
			return err
		}
		if !r.skip(':') {
			return fmt.Errorf("%w: at byte %d", errRow, r.i)
		}
		if err := member(key); err != nil {
			return err
		}
		switch {
		case r.skip(','):
		case r.skip('}'):
			return nil
		default:
			return fmt.Errorf("%w: at byte %d", errRow, r.i)
		}
	}
}

func (r *rowReader) skip(c byte) bool {
	if r.i < len(r.s) && r.s[r.i] == c {
		r.i++
		return true
	}
	return false
}

func (r *rowReader) textTo(s *string) (err error) {
	*s, err = r.text()
	return err
}

func (r *rowReader) text() (string, error) {
	if !r.skip('"') {
		return "", fmt.Errorf("%w: at byte %d", errRow, r.i)
	}
	rest := r.s[r.i:]
	n := strings.IndexByte(rest, '"')
	if n < 0 {
		return "", fmt.Errorf("%w: cut short", errRow)
	}
	if strings.IndexByte(rest[:n], '\\') < 0 {
		r.i += n + 1
		return rest[:n], nil
	}
	end := stringEnd(rest)
	if end < 0 {
		return "", fmt.Errorf("%w: cut short", errRow)
	}
	var s string
	if err := json.Unmarshal([]byte(r.s[r.i-1:r.i+end+1]), &s); err != nil {
		return "", fmt.Errorf("%w: %w", errRow, err)
	}
	r.i += end + 1
	return s, nil
}

// stringEnd is where the quote is that ends a string, or -1.
func stringEnd(s string) int {
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case '"':
			return i
		}
	}
	return -1
}

func (r *rowReader) number(n *int64) error {
	i, negative := r.i, r.skip('-')
	var v uint64
	digits := r.i
	for r.i < len(r.s) && r.s[r.i] >= '0' && r.s[r.i] <= '9' {
		v = v*10 + uint64(r.s[r.i]-'0')
		r.i++
	}
	if n := r.i - digits; n == 0 || n > 19 || v > 1<<63-1 {
		return fmt.Errorf("%w: number at byte %d", errRow, i)
	}
	*n = int64(v)
	if negative {
		*n = -*n
	}
	return nil
}

func (r *rowReader) int(n *int) error {
	var v int64
	err := r.number(&v)
	*n = int(v)
	return err
}

func (r *rowReader) time(t *time.Time) error {
	var us int64
	err := r.number(&us)
	*t = world.FromMicro(us)
	return err
}

func (r *rowReader) flag(b *bool) error {
	*b = r.skip('1')
	if !*b {
		return fmt.Errorf("%w: flag at byte %d", errRow, r.i)
	}
	return nil
}

// json reads an object through encoding/json.
func (r *rowReader) json(v any) error {
	end := objectEnd(r.s[r.i:])
	if end < 0 {
		return fmt.Errorf("%w: at byte %d", errRow, r.i)
	}
	if err := json.Unmarshal([]byte(r.s[r.i:r.i+end]), v); err != nil {
		return fmt.Errorf("%w: %w", errRow, err)
	}
	r.i += end
	return nil
}

// objectEnd is the length of the object that s begins with, or -1.
func objectEnd(s string) int {
	if s == "" || s[0] != '{' {
		return -1
	}
	depth := 0
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '"':
			n := stringEnd(s[i+1:])
			if n < 0 {
				return -1
			}
			i += n + 1
		case '{':
			depth++
		case '}':
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return -1
}
