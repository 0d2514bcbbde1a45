package world

// JSON from outside. What two readers would read in two ways is refused: a member that is there twice, text that is not UTF-8.

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// MaxDepth is the deepest nesting of arrays and objects in a value. Readers have limits too, Go's
// 10,000, and may nest values in their own.
const MaxDepth = 1000

// Deep reports whether valid JSON is nested deeper than [MaxDepth].
func Deep(b []byte) bool {
	if len(b) <= 2*MaxDepth {
		return false
	}
	depth := 0
	for i := 0; i < len(b); i++ {
		switch b[i] {
		case '{', '[':
			if depth++; depth > MaxDepth {
				return true
			}
		case '}', ']':
			depth--
		case '"':
			i, _ = textEnd(b, i+1)
		}
	}
	return false
}

// CheckJSON returns [ErrInvalid] unless b is one JSON value, in UTF-8, without repeated members, at
// most [MaxDepth] deep. what names it in the error. Numbers may have any size; the type that reads
// them decides. Use it for JSON from outside; the output of [json.Marshal] needs no check.
func CheckJSON(what string, b []byte) error {
	if !json.Valid(b) {
		return fmt.Errorf("%w: %s is not JSON: %s", ErrInvalid, what, notJSON(b))
	}
	if !utf8.Valid(b) {
		at := 0
		for r, n := utf8.DecodeRune(b); r != utf8.RuneError || n != 1; r, n = utf8.DecodeRune(b[at:]) {
			at += n
		}
		return fmt.Errorf("%w: %s is not JSON: it is not UTF-8 at byte %d", ErrInvalid, what, at)
	}
	s := members{text: b}
	s.in, s.names = s.room.in[:0], s.room.names[:0]
	if err := s.check(); err != nil {
		return fmt.Errorf("%w: %s %w", ErrInvalid, what, err)
	}
	return nil
}

// notJSON says why bytes are not JSON.
func notJSON(b []byte) string {
	if len(bytes.TrimSpace(b)) == 0 {
		return "it is empty"
	}
	if bytes.HasPrefix(b, []byte("\ufeff")) {
		return "it begins with a byte order mark: remove that"
	}
	var v json.RawMessage
	bad, ok := errors.AsType[*json.SyntaxError](json.Unmarshal(b, &v))
	switch at := 0; {
	case !ok:
		return "it cannot be read"
	case strings.HasPrefix(bad.Error(), "unexpected end"):
		return "it ends in the middle"
	default:
		if at = int(bad.Offset) - 1; at > 0 && at <= len(b) && json.Valid(b[:at]) {
			return fmt.Sprintf("there is more after its end, at byte %d", at)
		}
		return fmt.Sprintf("%v at byte %d", bad, at)
	}
}

// members goes through valid JSON and knows the members of the objects that it is in.
type members struct {
	text  []byte
	in    []nest
	names [][]byte // of the objects in it, behind each other

	room struct { // for those of small values
		in    [8]nest
		names [16][]byte
	}
}

// nest is an object or an array that is not at its end.
type nest struct {
	object bool
	named  bool // the name of the present member was read
	from   int  // where its names begin
	item   int
	many   map[string]bool // in their place, where they are many
}

// fewMembers are looked through one by one.
const fewMembers = 16

func (s *members) check() error {
	for i := 0; i < len(s.text); i++ {
		switch c := s.text[i]; c {
		case '{', '[':
			if len(s.in) == MaxDepth {
				return fmt.Errorf("has more than %d levels of arrays and objects, at byte %d", MaxDepth, i)
			}
			s.in = append(s.in, nest{object: c == '{', from: len(s.names)})
		case '}', ']':
			s.names = s.names[:s.in[len(s.in)-1].from]
			s.in = s.in[:len(s.in)-1]
		case ',':
			top := &s.in[len(s.in)-1]
			top.item, top.named = top.item+1, false
		case '"':
			end, escapes := textEnd(s.text, i+1)
			text := s.text[i+1 : end]
			if escapes && !paired(text) {
				return fmt.Errorf("is not JSON: half a surrogate pair is escaped at byte %d", i)
			}
			if err := s.name(text, escapes); err != nil {
				return err
			}
			i = end
		}
	}
	return nil
}

// name takes a text for the name of a member, where it is one.
func (s *members) name(text []byte, escapes bool) error {
	if len(s.in) == 0 {
		return nil
	}
	top := &s.in[len(s.in)-1]
	if !top.object || top.named {
		return nil
	}
	if escapes {
		var plain string
		if err := json.Unmarshal(bytes.Join([][]byte{nil, text, nil}, []byte{'"'}), &plain); err != nil {
			return fmt.Errorf("is not JSON: %w", err)
		}
		text = []byte(plain)
	}
	top.named = true
	there := s.has(top, text)
	s.names = append(s.names, text)
	if there {
		return fmt.Errorf("has the member %.100q twice", s.pointer())
	}
	return nil
}

// has reports whether the innermost object has a member of a name already.
func (s *members) has(top *nest, name []byte) bool {
	names := s.names[top.from:]
	if len(names) < fewMembers {
		for _, other := range names {
			if bytes.Equal(other, name) {
				return true
			}
		}
		return false
	}
	if top.many == nil {
		top.many = make(map[string]bool, 4*fewMembers)
		for _, other := range names {
			top.many[string(other)] = true
		}
	}
	there := top.many[string(name)]
	top.many[string(name)] = true
	return there
}

// pointer is where the present member is, as a JSON pointer.
func (s *members) pointer() string {
	var b strings.Builder
	for i := range s.in {
		name := strconv.Itoa(s.in[i].item)
		if s.in[i].object {
			last := len(s.names) - 1
			if i+1 < len(s.in) {
				last = s.in[i+1].from - 1
			}
			name = strings.NewReplacer("~", "~0", "/", "~1").Replace(string(s.names[last]))
		}
		b.WriteString("/" + name)
	}
	return b.String()
}

// textEnd is where a text ends that begins behind its quote, and whether it has escapes.
func textEnd(b []byte, i int) (end int, escapes bool) {
	for ; b[i] != '"'; i++ {
		if b[i] == '\\' {
			i, escapes = i+1, true
		}
	}
	return i, escapes
}

// paired reports whether each surrogate that a text escapes is half of a pair.
func paired(text []byte) bool {
	for i := 0; i < len(text); i++ {
		if text[i] != '\\' {
			continue
		}
		if i++; text[i] != 'u' {
			continue
		}
		switch half := surrogate(text[i+1:]); {
		case half == 0:
		case half == 1 && len(text) >= i+11 && text[i+5] == '\\' && text[i+6] == 'u' && surrogate(text[i+7:]) == 2:
			i += 6
		default:
			return false
		}
		i += 4
	}
	return true
}

// surrogate says which half of a pair four hexadecimal digits are; 0: none.
func surrogate(digits []byte) int {
	if digits[0]|0x20 != 'd' || digits[1] < '8' {
		return 0
	}
	if c := digits[1] | 0x20; c >= 'c' && c <= 'f' {
		return 2
	}
	return 1
}
