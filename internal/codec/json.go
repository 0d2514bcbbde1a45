// Package codec turns what authors' code hands over into what the log keeps, and back: values as JSON within a size limit,
// errors as [world.Error]. What live code sees after this round trip is what a replay will see.
package codec

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/stepwell/stepwell/world"
)

// DefaultLimit is how many bytes an encoded value may have, unless the configuration says otherwise.
const DefaultLimit = 1 << 20

// Error says why a value cannot be encoded or decoded. Trying again would not help.
type Error struct {
	Code string // world.CodeEncode, world.CodeTooLarge or world.CodeDecode
	Err  error  // what is wrong, and where
}

// Error says what is wrong.
func (e *Error) Error() string { return e.Err.Error() }

// Unwrap returns what is wrong.
func (e *Error) Unwrap() error { return e.Err }

// Is reports whether target is [world.ErrTooLarge] and the value was too large, or [world.ErrInvalid] and it does not encode.
func (e *Error) Is(target error) bool {
	return target == world.ErrTooLarge && e.Code == world.CodeTooLarge || target == world.ErrInvalid && e.Code == world.CodeEncode
}

// Encode returns v as JSON, in the form of encoding/json without HTML escaping and without a newline at the end. A nil
// pointer, interface, slice or map is null. Bytes of a text that are not UTF-8 become U+FFFD; in the key of a map they are refused, as an entry could be lost, and so
// is a struct that has no exported field, as all of it would be. limit is in bytes; 0 means [DefaultLimit], less than 0 none. Errors are *[Error]. The caller owns the bytes. It is safe for concurrent use.
func Encode(v any, limit int) ([]byte, error) {
	b, err := encode(v, limit)
	if err == nil {
		err = lost(v, b)
	}
	if err != nil {
		return nil, err
	}
	return b, nil
}

// encode is Encode for what may lose something.
func encode(v any, limit int) ([]byte, error) {
	b, ok := encodeSimple(v)
	if !ok {
		var err error
		if b, err = encodeAny(v); err != nil {
			return nil, err
		}
	}
	if err := CheckSize(b, limit); err != nil {
		return nil, err
	}
	if world.Deep(b) {
		return nil, &Error{Code: world.CodeTooLarge, Err: fmt.Errorf("value has more than %d levels of arrays and objects as JSON", world.MaxDepth)}
	}
	return b, nil
}

// CheckSize refuses encoded bytes over the limit, or with too many blobs, as [Encode] does.
func CheckSize(b []byte, limit int) error {
	if limit == 0 {
		limit = DefaultLimit
	}
	if limit > 0 && len(b) > limit {
		return &Error{Code: world.CodeTooLarge, Err: fmt.Errorf("value has %d bytes as JSON, the limit is %d bytes", len(b), limit)}
	}
	if err := world.CheckNamed(b); err != nil {
		return &Error{Code: world.CodeTooLarge, Err: err}
	}
	return nil
}

// encodeSimple encodes the commonest types without reflection.
func encodeSimple(v any) ([]byte, bool) {
	switch v := v.(type) {
	case nil:
		return []byte("null"), true
	case struct{}:
		return []byte("{}"), true
	case bool:
		return strconv.AppendBool(nil, v), true
	case int:
		return strconv.AppendInt(nil, int64(v), 10), true
	case int64:
		return strconv.AppendInt(nil, v, 10), true
	case int32:
		return strconv.AppendInt(nil, int64(v), 10), true
	case uint64:
		return strconv.AppendUint(nil, v, 10), true
	case uint32:
		return strconv.AppendUint(nil, uint64(v), 10), true
	case string:
		if !plain(v) {
			return nil, false
		}
		b := make([]byte, 0, len(v)+2)
		b = append(b, '"')
		b = append(b, v...)
		return append(b, '"'), true
	}
	return nil, false
}

// plain reports whether a string is its own JSON between quotes.
func plain(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c == '"' || c == '\\' || c >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

func encodeAny(v any) (b []byte, err error) {
	defer func() { // a method of the type's own
		if p := recover(); p != nil {
			b, err = nil, &Error{Code: world.CodeEncode, Err: fmt.Errorf("%s does not encode as JSON: it panicked: %v", target(v), p)}
		}
	}()
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, &Error{Code: world.CodeEncode, Err: fmt.Errorf("%s does not encode as JSON: %w", target(v), explain(v, Finite(err, nil)))}
	}
	return bytes.TrimSuffix(buf.Bytes(), []byte("\n")), nil
}

// Kept is a value as the log keeps it: what came out of the round trip, and the JSON between.
type Kept[T any] struct {
	JSON  []byte
	Value T
}

// RoundTrip encodes a value as [Encode] does, from a pointer, so that methods of the pointer count as they do in [Decode], and reads it back: what cannot be read
// back, or is not all there then, is an *[Error] with code ENCODE. Of such a value the JSON is returned all the same: earlier releases recorded it. Kept is nil
// where the value is sure to come back as it is.
func RoundTrip[T any](v *T, limit int) ([]byte, *Kept[T], error) {
	if b, simple := encodeSimple(*v); simple && reflect.TypeFor[T]().Kind() != reflect.Interface {
		return b, nil, CheckSize(b, limit)
	}
	return roundTrip(v, limit)
}

// roundTrip is RoundTrip of what is not simple. It is no part of that, so that its frame, which is large, is none of a simple step's: see the engine's call.
//
//go:noinline
func roundTrip[T any](v *T, limit int) ([]byte, *Kept[T], error) {
	b, simple := encodeSimple(*v)
	if !simple {
		var err error
		if b, err = encodeAny(v); err != nil {
			return nil, nil, err
		}
	}
	if err := CheckSize(b, limit); err != nil {
		return nil, nil, err
	}
	k := &Kept[T]{JSON: b}
	if err := Fits(b, &k.Value); err != nil {
		return b, nil, &Error{Code: world.CodeEncode, Err: fmt.Errorf("%s encodes as JSON that it cannot be read back from: %w", target(v), err)}
	}
	if !simple {
		if err := lost(v, b); err != nil {
			return b, nil, err
		}
	}
	return b, k, nil
}

// Decode reads JSON into the pointer v, which must be zero before: what the data does not name stays as it is. Anything
// after the value is refused, and so is null for a type that has no nil, where encoding/json would leave a silent zero
// (an empty struct takes it). Errors are *[Error] with code DECODE and say field, offset and what is wanted there, in
// the words of JSON: who sent it may know no Go. Times have UTC or a fixed zone, never time.Local, whatever the zone of
// this process. It is safe for concurrent use.
func Decode(data []byte, v any) error {
	if decodeSimple(data, v) {
		return nil
	}
	if string(bytes.TrimSpace(data)) == "null" && !holdsNull(v) {
		return &Error{Code: world.CodeDecode, Err: fmt.Errorf("decode: null does not fit: want %s", wanted(reflect.TypeOf(v)))}
	}
	if err := json.Unmarshal(data, v); err != nil {
		return &Error{Code: world.CodeDecode, Err: decodeError(data, Finite(err, nil))}
	}
	FixZones(v)
	return nil
}

// Fits is [Decode] for what comes from outside: where a method of the type's own panics over the data, they do not fit either.
func Fits(data []byte, v any) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = &Error{Code: world.CodeDecode, Err: fmt.Errorf("decode: the code that reads it panicked: %v", p)}
		}
	}()
	return Decode(data, v)
}

// decodeSimple decodes the commonest types without reflection; what it does not know, and whatever is wrong, it leaves to
// encoding/json.
func decodeSimple(data []byte, v any) bool {
	switch v := v.(type) {
	case *struct{}:
		return v != nil && string(data) == "{}"
	case *bool:
		if v != nil && (string(data) == "true" || string(data) == "false") {
			*v = data[0] == 't'
			return true
		}
	case *int:
		if n, ok := decimal(data); ok && v != nil && int64(int(n)) == n {
			*v = int(n)
			return true
		}
	case *int64:
		if n, ok := decimal(data); ok && v != nil {
			*v = n
			return true
		}
	case *string:
		if n := len(data); v != nil && n >= 2 && data[0] == '"' && data[n-1] == '"' {
			if s := string(data[1 : n-1]); plain(s) {
				*v = s
				return true
			}
		}
	}
	return false
}

// decimal reads an integer of at most 18 digits in the one form that JSON has for it.
func decimal(data []byte) (n int64, ok bool) {
	d := data
	if len(d) > 0 && d[0] == '-' {
		d = d[1:]
	}
	if len(d) == 0 || len(d) > 18 || d[0] == '0' && len(d) > 1 {
		return 0, false
	}
	for _, c := range d {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + int64(c-'0')
	}
	if len(d) < len(data) {
		n = -n
	}
	return n, true
}

// holdsNull reports whether v points to what null can be decoded into without becoming something else.
func holdsNull(v any) bool {
	if _, ok := v.(json.Unmarshaler); ok {
		return true
	}
	t := reflect.TypeOf(v)
	if t == nil || t.Kind() != reflect.Pointer {
		return true // encoding/json says what is wrong with it
	}
	switch t = t.Elem(); t.Kind() {
	case reflect.Pointer, reflect.Interface, reflect.Slice, reflect.Map:
		return true
	case reflect.Struct:
		return t.NumField() == 0
	}
	return false
}

// target names the type that v points to.
func target(v any) string { return strings.TrimPrefix(fmt.Sprintf("%T", v), "*") }
