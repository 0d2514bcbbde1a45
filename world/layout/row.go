// Package layout defines the bytes that stores keep: a commit as a row with a head and a body, and
// the checksum beside each row. A store calls [AppendRow] and [ReadRow] for its log and its inbox,
// and checks other rows with [CheckRun], [CheckTask] and [CheckChunks]. Stored rows must stay
// readable for ever: a change of this package must still read all older rows.
package layout

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/oklog/ulid/v2"

	"github.com/stepwell/stepwell/world"
)

// A row is one commit as worlds keep it: a format, a head and a body. The head is JSON text
//
//	{"c":"…","b":"build","s":µs,"e":[event, …]}
//
// with the commit's ID (base64), the build, the time of the first event since the run's birth, and an object for each event. "s" is left out where it is
// zero; who writes a row and does not know the birth has "t" instead, since 1970. The body holds the bytes of
// payloads, one behind the other, as they came: the head says where. The members of an event, all but "y" left out where they are zero:
//
//	y  type                         r  retryAt, µs since 1970
//	t  µs after the first event     u  until, µs since 1970
//	w  occurredAt, µs since 1970    m  [offset, length] of the match
//	i  last 16 characters of an ID  x  outcome
//	   that was made at the birth   f  from
//	id any other ID                 h  token
//	d  delivery                     ch chosen: 1
//	k  kind                         g  peer
//	n  name                         by who
//	p  path                         s  reason
//	c  occurrence                   v  version
//	a  attempt                      b  birth, see birth.go
//	q  queued: 1                    nx continuation, without attributes
//	z  sealed: ID of the key
//	o  offset of the payload        at {name: [offset, length]} attributes
//	l  length of the payload        e  error
//	ls listen                       ld listened: 1
//	mp maxPayload                  mv maxValue
//	va ID of the value that the payload refers to, kept apart
//
// Strings are UTF-8: bytes that are not are replaced by U+FFFD. Empty lists and maps come back as nil; all else comes back as it was.

// AppendRow appends the head and the body of a row with events to two slices, and returns both.
// birth is the time of the run's run_created, or zero for mail to an unknown run. The format is
// [world.LogFormat]. It keeps no argument.
func AppendRow(head, body []byte, id [16]byte, build string, birth time.Time, events []world.Event) ([]byte, []byte, error) {
	w := rowWriter{head: head, body: body, start: len(body)}
	stamp(&w.birth, birth)
	var base int64
	if len(events) > 0 {
		base = events[0].Time.UnixMicro()
	}
	w.head = append(w.head, `{"c":"`...)
	w.head = base64.RawStdEncoding.AppendEncode(w.head, id[:])
	w.head = append(w.head, '"')
	w.text(`,"b":`, build)
	if birth.IsZero() {
		w.head = strconv.AppendInt(append(w.head, `,"t":`...), base, 10)
	} else {
		w.number(`,"s":`, base-birth.UnixMicro())
	}
	w.head = append(w.head, `,"e":[`...)
	for i := range events {
		if i > 0 {
			w.head = append(w.head, ',')
		}
		if err := w.event(&events[i], base); err != nil {
			return head, body, fmt.Errorf("%s: %w", events[i].Type, err)
		}
	}
	w.head = append(w.head, "]}"...)
	return w.head, w.body, nil
}

type rowWriter struct {
	head, body []byte
	start      int // where this row's body begins
	birth      [10]byte
}

func (w *rowWriter) event(e *world.Event, base int64) error {
	w.head = appendString(append(w.head, `{"y":`...), string(e.Type))
	w.number(`,"t":`, e.Time.UnixMicro()-base)
	w.time(`,"w":`, e.OccurredAt)
	w.id(e)
	w.text(`,"d":`, e.Delivery)
	w.text(`,"k":`, string(e.Kind))
	w.text(`,"n":`, e.Name)
	w.text(`,"p":`, e.Path)
	w.number(`,"c":`, int64(e.Occurrence))
	w.number(`,"a":`, int64(e.Attempt))
	w.flag(`,"q":1`, e.Queued)
	if e.Payload != nil {
		w.head = strconv.AppendInt(append(w.head, `,"o":`...), int64(len(w.body)-w.start), 10)
		w.head = strconv.AppendInt(append(w.head, `,"l":`...), int64(len(e.Payload)), 10)
		w.body = append(w.body, e.Payload...)
	}
	w.time(`,"r":`, e.RetryAt)
	w.time(`,"u":`, e.Until)
	if e.Match != nil {
		w.head = append(w.head, `,"m":`...)
		w.slice(e.Match)
	}
	w.text(`,"x":`, string(e.Outcome))
	w.number(`,"f":`, e.From)
	w.text(`,"h":`, e.Token)
	w.flag(`,"ch":1`, e.Chosen)
	w.text(`,"g":`, e.Peer)
	w.text(`,"by":`, e.By)
	w.text(`,"s":`, e.Reason)
	w.number(`,"v":`, int64(e.Version))
	w.text(`,"z":`, e.Encrypted)
	w.flag(`,"ld":1`, e.Listened)
	w.number(`,"mp":`, int64(e.MaxPayload))
	w.number(`,"mv":`, int64(e.MaxValue))
	if e.Error != nil || e.Birth != nil || e.Next != nil || e.Listen != nil || e.Apart != "" || len(e.Places) > 0 {
		if err := w.rare(e); err != nil {
			return err
		}
	}
	w.head = append(w.head, '}')
	return nil
}

// stepPlaces are those of a step, as a row has them.
type stepPlaces struct {
	Of []world.Place `json:"of"`
}

// rare writes what few events have, mostly through encoding/json; attributes go to the body, so that their bytes stay what they are.
func (w *rowWriter) rare(e *world.Event) error {
	if e.Error != nil {
		if err := w.object(`,"e":`, e.Error); err != nil {
			return err
		}
	}
	if e.Listen != nil {
		if err := w.object(`,"ls":`, e.Listen); err != nil {
			return err
		}
	}
	w.text(`,"va":`, e.Apart)
	if len(e.Places) > 0 {
		if err := w.object(`,"pl":`, stepPlaces{e.Places}); err != nil {
			return err
		}
	}
	var attrs map[string]json.RawMessage
	if e.Birth != nil {
		attrs = e.Birth.Attributes
		if err := w.writeBirth(e.Birth); err != nil {
			return err
		}
	}
	if e.Next != nil {
		n := *e.Next
		if len(attrs) > 0 && len(n.Attributes) > 0 {
			return fmt.Errorf("%w: such an event is the start of a run or of a segment", world.ErrInvalid)
		}
		if len(n.Attributes) > 0 {
			attrs = n.Attributes
		}
		n.Attributes = nil
		if err := w.object(`,"nx":`, &n); err != nil {
			return err
		}
	}
	if len(attrs) == 0 {
		return nil
	}
	w.head = append(w.head, `,"at":`...)
	sep := byte('{')
	for _, name := range slices.Sorted(maps.Keys(attrs)) {
		w.head = append(appendString(append(w.head, sep), name), ':')
		w.slice(attrs[name])
		sep = ','
	}
	w.head = append(w.head, '}')
	return nil
}

func (w *rowWriter) object(key string, v any) error {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return fmt.Errorf("%w: %w", world.ErrInvalid, err)
	}
	w.head = append(append(w.head, key...), bytes.TrimSuffix(buf.Bytes(), []byte("\n"))...)
	return nil
}

// slice puts bytes into the body and says where; nil is null.
func (w *rowWriter) slice(b []byte) {
	if b == nil {
		w.head = append(w.head, "null"...)
		return
	}
	w.head = strconv.AppendInt(append(w.head, '['), int64(len(w.body)-w.start), 10)
	w.head = strconv.AppendInt(append(w.head, ','), int64(len(b)), 10)
	w.head = append(w.head, ']')
	w.body = append(w.body, b...)
}

func (w *rowWriter) id(e *world.Event) {
	if e.ID == "" {
		return
	}
	prefix := idPrefix(e.Type)
	n := len(prefix)
	if n > 0 && len(e.ID) == n+ulid.EncodedSize && strings.HasPrefix(e.ID, prefix) && e.ID[n:n+10] == string(w.birth[:]) {
		w.text(`,"i":`, e.ID[n+10:])
		return
	}
	w.text(`,"id":`, e.ID)
}

func (w *rowWriter) text(key, s string) {
	if s != "" {
		w.head = appendString(append(w.head, key...), s)
	}
}

func (w *rowWriter) number(key string, n int64) {
	if n != 0 {
		w.head = strconv.AppendInt(append(w.head, key...), n, 10)
	}
}

func (w *rowWriter) time(key string, t time.Time) {
	if !t.IsZero() {
		w.head = strconv.AppendInt(append(w.head, key...), t.UnixMicro(), 10)
	}
}

func (w *rowWriter) flag(key string, set bool) {
	if set {
		w.head = append(w.head, key...)
	}
}

// idPrefix is what the IDs of an event's entity begin with, or "" where the type has no entity.
func idPrefix(t world.EventType) string {
	switch t {
	case world.StepCreated, world.StepStarted, world.StepRetrying, world.StepWoken, world.StepCompleted, world.StepFailed:
		return world.PrefixStep + "_"
	case world.WaitCreated, world.WaitCompleted:
		return world.PrefixWait + "_"
	case world.HookCreated, world.HookConflict, world.HookReceived, world.HookDisposed:
		return world.PrefixHook + "_"
	case world.AttrSet:
		return world.PrefixAttr + "_"
	}
	return ""
}

// stamp writes the time part of a ULID.
func stamp(dst *[10]byte, t time.Time) {
	var id ulid.ULID
	var text [ulid.EncodedSize]byte
	if ms := t.UnixMilli(); ms > 0 {
		_ = id.SetTime(uint64(ms))
	}
	_ = id.MarshalTextTo(text[:])
	copy(dst[:], text[:])
}

// appendString appends a JSON string.
func appendString(b []byte, s string) []byte {
	b = append(b, '"')
	from := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= ' ' && c != '"' && c != '\\' && c < utf8.RuneSelf {
			i++
			continue
		}
		if c >= utf8.RuneSelf {
			r, n := utf8.DecodeRuneInString(s[i:])
			if r == utf8.RuneError && n == 1 {
				b = append(append(b, s[from:i]...), "\uFFFD"...)
				from = i + 1
			}
			i += n
			continue
		}
		b = append(b, s[from:i]...)
		if c == '"' || c == '\\' {
			b = append(b, '\\', c)
		} else {
			const hex = "0123456789abcdef"
			b = append(b, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		}
		i++
		from = i
	}
	return append(append(b, s[from:]...), '"')
}
