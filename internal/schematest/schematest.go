// Package schematest has the tests of schemas: what encoding/json takes fits, what it refuses does not. Another validator
// of JSON Schema can be asked beside ours.
package schematest

import (
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"net/netip"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/stepwell/stepwell/internal/codec"
	"github.com/stepwell/stepwell/internal/schema"
)

type item struct {
	SKU   string  `json:"sku"`
	Count uint8   `json:"count,omitempty"`
	Price float32 `json:"price"`
}

type base struct {
	ID   int64  `json:"id"`
	Note string `json:"note,omitempty"`
	Same int
}

type other struct{ Same int }

// Named is embedded by a pointer, which its name has to be exported for.
type Named struct{ Deep bool }

type order struct {
	base
	other
	*Named
	Tagged base `json:"tagged"`

	Customer *string          `json:"customer"`
	Items    []item           `json:"items"`
	First    *item            `json:"first,omitempty"`
	Pair     [2]int16         `json:"pair"`
	Blob     []byte           `json:"blob"`
	At       time.Time        `json:"at"`
	For      time.Duration    `json:"for"`
	Raw      json.RawMessage  `json:"raw,omitempty"`
	Any      any              `json:"any"`
	Number   json.Number      `json:"number"`
	Text     int              `json:"text,string"`
	Quoted   *bool            `json:"quoted,string,omitempty"`
	ByCode   map[int8]string  `json:"byCode"`
	Extra    map[string]*item `json:"extra,omitzero"`
	Addr     netip.Addr       `json:"addr"`
	Big      *big.Int         `json:"big"`
	hidden   int
	Skipped  chan int `json:"-"`
	//lint:ignore SA5008 a member whose name is a dash, and one with a tag that encoding/json passes over
	Dash string `json:"-,"`
	//lint:ignore SA5008 the same
	Odd string `json:"a\"b"`
}

type tree struct {
	Name string           `json:"name"`
	Kids []*tree          `json:"kids,omitempty"`
	By   map[string]tree  `json:"by,omitempty"`
	Up   *tree            `json:"up,omitempty"`
	List nest             `json:"list"`
	Box  box[item]        `json:"box"`
	More box[map[int]any] `json:"more"`
}

type nest []nest

type box[T any] struct{ In T }

type money int

func (m money) MarshalText() ([]byte, error)  { return fmt.Appendf(nil, "%d EUR", int(m)), nil }
func (m *money) UnmarshalText(b []byte) error { *m = 1; return nil }

type odd struct{ _ []int }

func (o odd) MarshalJSON() ([]byte, error)  { return []byte(`[1,"a"]`), nil }
func (o *odd) UnmarshalJSON(b []byte) error { return nil }

type methods struct {
	Money money           `json:"money"`
	Odd   odd             `json:"odd"`
	PMon  *money          `json:"pmon"`
	Map   map[money]money `json:"map"`
	Bytes []tiny          `json:"bytes"`
}

type tiny byte

// sample is a type that is tried.
type sample struct {
	name   string
	typ    reflect.Type
	decode func([]byte) error
	values []any
}

func of[T any](name string, values ...T) sample {
	s := sample{name: name, typ: reflect.TypeFor[T](), decode: func(data []byte) error { return codec.Fits(data, new(T)) }}
	var zero T
	for _, v := range append(values, zero) {
		s.values = append(s.values, &v)
	}
	return s
}

func samples() []sample {
	text, yes := "ada", true
	leaf := &item{SKU: "x", Count: 255, Price: 1.5}
	full := order{
		base: base{ID: 1, Same: 1}, other: other{2}, Named: &Named{true}, Customer: &text, Items: []item{*leaf, {}}, First: leaf, Pair: [2]int16{1, -2}, Blob: []byte("blob"),
		At: time.Unix(1e9, 5).UTC(), For: time.Hour, Raw: json.RawMessage(`{"a":[1]}`), Any: map[string]any{"x": 1}, Number: "1e3", Text: 5, Quoted: &yes,
		ByCode: map[int8]string{-1: "a"}, Extra: map[string]*item{"a": leaf, "b": nil}, Addr: netip.MustParseAddr("::1"), Big: big.NewInt(5), hidden: 1,
	}
	return []sample{
		of("order", full), of("a pointer", &full), of("a list", []order{full}), of("a map", map[string]order{"a": full}),
		of("a tree", tree{Name: "a", Kids: []*tree{nil, {Name: "b"}}, By: map[string]tree{"c": {}}, Up: &tree{}, List: nest{{}, {{}}}, More: box[map[int]any]{map[int]any{1: nil}}}),
		of("itself", nest{{}}), of("methods", methods{Money: 5, Map: map[money]money{1: 2}, Bytes: []tiny{1, 2}}),
		of("int", 5), of("int8", int8(-128), 127), of("uint64", uint64(math.MaxUint64)), of("int64", int64(math.MinInt64)), of("float32", float32(1)), of("float64", 1e300), of("string", "a"),
		of("bool", true), of("any", any(1)), of("raw", json.RawMessage(`5`)), of("bytes", []byte("a")), of("empty", struct{}{}), of("time", time.Unix(0, 0).UTC()),
		of("a pointer to an int", new(int)), of("an array", [2]byte{1, 2}), of("text", money(1)), of("json", odd{}), of("two pointers", new(*int)), of("unnamed", struct{ time.Time }{}),
	}
}

// Another makes a validator of a schema: it says whether a document fits.
type Another func(t testing.TB, schema []byte) func(document []byte) error

// of is what another validator says of a schema; without one all fits.
func (a Another) of(t testing.TB, s *schema.Schema) func([]byte) error {
	t.Helper()
	text, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	if a == nil {
		return func([]byte) error { return nil }
	}
	return a(t, text)
}

// WhatIsMadeFits: values of a type, as the codec makes them, fit what is taken and what is made; so does the skeleton, and all survives being kept.
func WhatIsMadeFits(t *testing.T, another Another) {
	for _, s := range samples() {
		t.Run(s.name, func(t *testing.T) {
			accepts, makes := schema.Of(s.typ), schema.Made(s.typ)
			acceptsToo, makesToo := another.of(t, accepts), another.of(t, makes)
			for _, v := range s.values {
				data, err := json.Marshal(v)
				if err != nil {
					t.Fatal(err)
				}
				if err := makesToo(data); err != nil {
					t.Errorf("%s is made, and does not fit what is made: another validator: %v", data, err)
				}
				if faults := makes.Check(data); len(faults) > 0 {
					t.Errorf("%s is made, and does not fit what is made: %v", data, faults)
				}
				if s.decode(data) != nil {
					continue // null
				}
				if faults := accepts.Check(data); len(faults) > 0 {
					t.Errorf("%s: got %v, want it to fit", data, faults)
				}
				if err := acceptsToo(data); err != nil {
					t.Errorf("%s: another validator: %v", data, err)
				}
			}
			skeleton := accepts.Skeleton()
			if err := s.decode(skeleton); err != nil && s.name != "json" && s.name != "order" {
				t.Errorf("the skeleton %s: %v", skeleton, err)
			}
			if faults := accepts.Check(skeleton); len(faults) > 0 {
				t.Errorf("the skeleton %s: %v", skeleton, faults)
			}
			text, err := json.Marshal(accepts)
			if err != nil {
				t.Fatal(err)
			}
			back, err := schema.Parse(text)
			if err != nil {
				t.Fatalf("%s: %v", text, err)
			}
			if diff := cmp.Diff(accepts, back); diff != "" {
				t.Errorf("it changes when it is kept: %s", diff)
			}
		})
	}
}

// RefusesWhatTheTypeDoes is the promise: what the type takes is never refused, and what it refuses is.
func RefusesWhatTheTypeDoes(t *testing.T, another Another) {
	all := samples()
	validators := make([]func([]byte) error, len(all))
	for i := range all {
		validators[i] = another.of(t, schema.Of(all[i].typ))
	}
	rapid.Check(t, func(t *rapid.T) {
		i := rapid.IntRange(0, len(all)-1).Draw(t, "type")
		s := schema.Of(all[i].typ)
		data, err := json.Marshal(document(t, s, s, 0))
		if err != nil {
			t.Fatal(err)
		}
		wrong := all[i].decode(data)
		faults := s.Check(data)
		switch {
		case wrong == nil && len(faults) > 0:
			t.Fatalf("%s: %s fits the type, and is refused: %v", all[i].name, data, faults)
		case wrong != nil && len(faults) == 0 && all[i].name != "unnamed" && !byItself(wrong):
			t.Fatalf("%s: %s does not fit the type, and is let in: %v", all[i].name, data, wrong)
		}
		if wrong == nil {
			if err := validators[i](data); err != nil {
				t.Fatalf("%s: %s fits the type, and another validator refuses it: %v", all[i].name, data, err)
			}
		}
		for _, f := range faults {
			if !leads(data, f.Pointer) {
				t.Fatalf("%s: the pointer %q leads nowhere in %s", all[i].name, f.Pointer, data)
			}
		}
	})
}

// byItself reports whether a method of a type decided, or what is no shape: a name, a number in a text.
func byItself(err error) bool {
	for _, words := range []string{"ParseAddr", "math/big", "invalid number literal", "unexported struct", "unable to parse IP"} {
		if strings.Contains(err.Error(), words) {
			return true
		}
	}
	return false
}

// leads reports whether a JSON pointer finds something.
func leads(data []byte, pointer string) bool {
	var v any
	_ = json.Unmarshal(data, &v)
	for _, part := range strings.Split(pointer, "/")[1:] {
		part = strings.NewReplacer("~1", "/", "~0", "~").Replace(part)
		switch at := v.(type) {
		case map[string]any:
			next, ok := at[part]
			if v = next; !ok {
				return false
			}
		case []any:
			n := 0
			if _, err := fmt.Sscan(part, &n); err != nil || n >= len(at) {
				return false
			}
			v = at[n]
		default:
			return false
		}
	}
	return true
}

// document makes a value that mostly fits a schema.
func document(t *rapid.T, root, s *schema.Schema, depth int) any {
	for s != nil && s.Ref != "" {
		s = root.Defs[strings.TrimPrefix(s.Ref, "#/$defs/")]
	}
	if s == nil || len(s.Type) == 0 || depth > 5 || rapid.IntRange(0, 24).Draw(t, "wrong") == 0 {
		return anything(t, depth)
	}
	switch rapid.SampledFrom(s.Type).Draw(t, "as") {
	case "boolean":
		return rapid.Bool().Draw(t, "bool")
	case "integer":
		return json.Number(rapid.SampledFrom([]string{"0", "-1", "127", "128", "-129", "256", "65536", "9223372036854775807", "9223372036854775808", "18446744073709551615", "1.0", "1e2", "0.5"}).Draw(t, "int"))
	case "number":
		return json.Number(rapid.SampledFrom([]string{"0", "-1.5", "1e30", "1e300", "1e400"}).Draw(t, "number"))
	case "string":
		switch {
		case s.Format == "date-time":
			return rapid.SampledFrom([]string{"2026-05-01T12:00:00Z", "2026-05-01T12:00:00.123+02:00", "2026-05-01", "2026-05-01T1:00:00Z", "", "soon"}).Draw(t, "time")
		case s.ContentEncoding == "base64":
			return rapid.SampledFrom([]string{"", "aGk=", "aGk", "!!", "a\nGk="}).Draw(t, "bytes")
		case s.ContentSchema != nil:
			return rapid.SampledFrom([]string{"", "5", "05", "-5", "+5", " 5", "5.5", "true", "null", `"a"`, "x", "1e2"}).Draw(t, "quoted")
		}
		return rapid.SampledFrom([]string{"", "a", "é", "5", "::1"}).Draw(t, "text")
	case "array":
		list := []any{}
		for range rapid.IntRange(0, 3).Draw(t, "length") {
			is := s.Items
			if n := len(list); n < len(s.PrefixItems) {
				is = s.PrefixItems[n]
			}
			list = append(list, document(t, root, is, depth+1))
		}
		return list
	case "object":
		object := map[string]any{}
		for _, p := range s.Properties {
			if rapid.IntRange(0, 2).Draw(t, "there") == 0 {
				continue
			}
			name := p.Name
			if rapid.IntRange(0, 9).Draw(t, "case") == 0 {
				name = strings.ToUpper(name)
			}
			object[name] = document(t, root, p.Schema, depth+1)
		}
		for range rapid.IntRange(0, 2).Draw(t, "more") {
			object[rapid.SampledFrom([]string{"x", "1", "-1", "128", "+5", "a/b~c", ""}).Draw(t, "name")] = document(t, root, s.AdditionalProperties, depth+1)
		}
		return object
	}
	return nil
}

func anything(t *rapid.T, depth int) any {
	return rapid.SampledFrom([]any{nil, true, json.Number("1"), json.Number("1.5"), "a", "1", []any{}, []any{json.Number("1")}, map[string]any{}, map[string]any{"1": "a"}, map[string]any{"In": nil}}).Draw(t, "anything")
}
