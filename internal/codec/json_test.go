package codec_test

// Tests of values: what is encoded is what encoding/json says, and bad input gets an error that helps.

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/stepwell/stepwell/internal/codec"
	"github.com/stepwell/stepwell/world"
)

type item struct {
	SKU   string
	Price float64
	Notes any `json:"notes,omitempty"`
}

type order struct {
	ID    string
	Items []item
	Due   time.Time
	Next  *order `json:",omitempty"`
}

type named string

type textError struct{}

func (textError) MarshalJSON() ([]byte, error) { return nil, errors.New("no paper") }

func TestEncode(t *testing.T) {
	var nilOrder *order
	var nilErr error
	for name, test := range map[string]struct {
		in   any
		want string
	}{
		"nil":           {nil, `null`},
		"nil pointer":   {nilOrder, `null`},
		"nil interface": {nilErr, `null`},
		"nil slice":     {[]int(nil), `null`},
		"empty struct":  {struct{}{}, `{}`},
		"bool":          {true, `true`},
		"int":           {math.MinInt64, `-9223372036854775808`},
		"uint64":        {uint64(math.MaxUint64), `18446744073709551615`},
		"html":          {"<a href='x'>&</a>", `"<a href='x'>&</a>"`},
		"quotes":        {`say "\"`, `"say \"\\\""`},
		"newline":       {"a\nb\n", `"a\nb\n"`},
		"named":         {named("n"), `"n"`},
		"unicode":       {"žluť", `"žluť"`},
		"bad UTF-8":     {"a\xffb", "\"a\\ufffdb\""},
		"struct":        {item{"a", 1.5, "<"}, `{"SKU":"a","Price":1.5,"notes":"<"}`},
		"raw":           {json.RawMessage(`{"a": 1}`), `{"a":1}`},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := codec.Encode(test.in, 0)
			if err != nil || string(got) != test.want {
				t.Errorf("got %s, %v; want %s", got, err, test.want)
			}
		})
	}
}

func TestEncodeRefuses(t *testing.T) {
	loop := &order{ID: "1"}
	loop.Next = &order{ID: "2", Next: loop}
	ring := map[string]any{}
	ring["self"] = []any{ring}
	for name, test := range map[string]struct {
		in   any
		want []string // parts of the message
	}{
		"NaN":          {order{Items: []item{{Price: 1}, {Price: math.NaN()}}}, []string{"codec_test.order", ".Items[1].Price is NaN"}},
		"infinity":     {math.Inf(1), []string{"float64", "the value is +Inf"}},
		"channel":      {map[string]any{"b": 1, "a": make(chan int)}, []string{"[a] has type chan int"}},
		"function":     {&item{Notes: func() {}}, []string{".Notes has type func()"}},
		"cycle":        {loop, []string{".Next.Next", "contains itself"}},
		"ring":         {ring, []string{"[self][0]", "contains itself"}},
		"map key":      {map[[2]int]int{{1, 2}: 3}, []string{"keys of type [2]int"}},
		"marshaler":    {[]any{textError{}}, []string{"[0] has type codec_test.textError", "no paper"}},
		"complex":      {struct{ Z complex128 }{}, []string{".Z has type complex128"}},
		"raw not JSON": {json.RawMessage(`{`), []string{"json.RawMessage"}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := codec.Encode(test.in, 0)
			ce, ok := errors.AsType[*codec.Error](err)
			if !ok || ce.Code != world.CodeEncode || got != nil {
				t.Fatalf("got %q, %v; want an ENCODE error and no bytes", got, err)
			}
			for _, part := range test.want {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("got message %q, want it to contain %q", err, part)
				}
			}
		})
	}
}

func TestEncodeLimit(t *testing.T) {
	for _, test := range []struct {
		size, limit int
		ok          bool
	}{
		{10, 10, true}, {11, 10, false}, {codec.DefaultLimit, 0, true}, {codec.DefaultLimit + 1, 0, false}, {codec.DefaultLimit + 1, -1, true},
	} {
		for _, in := range []any{strings.Repeat("x", test.size-2), []string{strings.Repeat("x", max(test.size-4, 0))}} {
			_, err := codec.Encode(in, test.limit)
			if (err == nil) != test.ok {
				t.Errorf("%d bytes, limit %d: got %v, want ok %v", test.size, test.limit, err, test.ok)
			}
			if err != nil && !errors.Is(err, world.ErrTooLarge) {
				t.Errorf("got %v, want ErrTooLarge", err)
			}
		}
	}
	type nested struct{ In *nested }
	var deep *nested
	for range world.MaxDepth + 1 {
		deep = &nested{deep}
	}
	if _, err := codec.Encode(deep, 0); !errors.Is(err, world.ErrTooLarge) || !strings.Contains(err.Error(), "levels") {
		t.Errorf("%d levels: got %v, want ErrTooLarge", world.MaxDepth+1, err)
	}
	if _, err := codec.Encode(deep.In, 0); err != nil {
		t.Errorf("%d levels: got %v", world.MaxDepth, err)
	}
	_, err := codec.Encode(strings.Repeat("x", 100), 50)
	if want := "value has 102 bytes as JSON, the limit is 50 bytes"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	if ce, ok := errors.AsType[*codec.Error](err); !ok || ce.Code != world.CodeTooLarge {
		t.Errorf("got %v, want code %s", err, world.CodeTooLarge)
	}
}

func TestDecodeRefuses(t *testing.T) {
	for name, test := range map[string]struct {
		data string
		into any
		want []string
	}{
		"garbage behind": {`{} x`, new(order), []string{"after the value", "offset"}},
		"two values":     {`1 2`, new(int), []string{"after the value"}},
		"wrong type":     {`{"ID":"1","Items":[{"SKU":7}]}`, new(order), []string{"decode: a JSON number at offset 27", "in field Items.SKU", "want a string"}},
		"truncated":      {`{"ID":"1"`, new(order), []string{"ends too early", "offset 9"}},
		"empty":          {``, new(order), []string{"no data"}},
		"not JSON":       {`{"ID":x}`, new(order), []string{"not JSON at offset 7"}},
		"overflow":       {`300`, new(int8), []string{"want a whole number from -128 to 127"}},
		"big int":        {`9223372036854775808`, new(int64), []string{"want a whole number from -9223372036854775808 to 9223372036854775807"}},
		"fraction":       {`1.5`, new(int), []string{"1.5", "want a whole number"}},
		"leading zero":   {`01`, new(int), []string{"decode: more data"}},
		"null int":       {`null`, new(int), []string{"null does not fit: want a whole number"}},
		"null struct":    {` null `, new(order), []string{"null does not fit: want an object"}},
		"null string":    {`null`, new(string), []string{"null does not fit: want a string"}},
		"not a pointer":  {`1`, 1, []string{"int"}},
		"nil pointer":    {`1`, (*int)(nil), []string{"int"}},
		"raw newline":    {"\"a\nb\"", new(string), []string{"not JSON"}},
	} {
		t.Run(name, func(t *testing.T) {
			err := codec.Decode([]byte(test.data), test.into)
			ce, ok := errors.AsType[*codec.Error](err)
			if !ok || ce.Code != world.CodeDecode {
				t.Fatalf("got %v, want a DECODE error", err)
			}
			for _, part := range test.want {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("got message %q, want it to contain %q", err, part)
				}
			}
			if !strings.HasSuffix(name, "pointer") && (strings.Contains(err.Error(), "codec_test") || strings.Contains(err.Error(), "Go ") || strings.Contains(err.Error(), "json:")) {
				t.Errorf("got message %q, want no types of Go in it", err)
			}
		})
	}
}

func TestDecodeNull(t *testing.T) {
	var p *order
	var a any
	var m map[string]int
	var raw json.RawMessage
	for _, v := range []any{&p, &a, &m, &raw, new(struct{}), new([]int)} {
		if err := codec.Decode([]byte("null"), v); err != nil {
			t.Errorf("%T: got %v, want null to fit", v, err)
		}
	}
}

// TestEncodeIsJSON: the fast paths give the bytes that encoding/json gives, and read them back.
func TestEncodeIsJSON(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := rapid.OneOf(rapid.String().AsAny(), rapid.Bool().AsAny(), rapid.Int().AsAny(), rapid.Int64().AsAny(),
			rapid.Uint64().AsAny(), rapid.Int32().AsAny(), rapid.Uint32().AsAny()).Draw(t, "in")
		got, err := codec.Encode(in, 0)
		if err != nil {
			t.Fatal(err)
		}
		var buf bytes.Buffer
		enc := json.NewEncoder(&buf)
		enc.SetEscapeHTML(false)
		if err := enc.Encode(in); err != nil {
			t.Fatal(err)
		}
		if want := strings.TrimSuffix(buf.String(), "\n"); string(got) != want {
			t.Fatalf("got %s, want %s", got, want)
		}
		checkDecodes[string](t, got)
		checkDecodes[bool](t, got)
		checkDecodes[int](t, got)
		checkDecodes[int64](t, got)
		checkDecodes[int8](t, got)
	})
}

// checkDecodes compares Decode with encoding/json.
func checkDecodes[T any](t *rapid.T, data []byte) {
	var got, want T
	errGot, errWant := codec.Decode(data, &got), json.Unmarshal(data, &want)
	if (errGot == nil) != (errWant == nil) || errWant == nil && !cmp.Equal(got, want) {
		t.Fatalf("%s into %T: got %v, %v; want %v, %v", data, want, got, errGot, want, errWant)
	}
}

// FuzzDecode: what encoding/json takes, Decode takes with the same result, and nothing else but for null.
func FuzzDecode(f *testing.F) {
	for _, s := range []string{`0`, `-0`, `-1`, `01`, `1e2`, `""`, `"\u0041"`, `"é"`, `null`, `true`, ` 1 `, `{}`, `[1]`, `1 1`, "\"\x7f\""} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var s1, s2 string
		var n1, n2 int
		for _, test := range []struct{ got, want any }{{&s1, &s2}, {&n1, &n2}} {
			errGot, errWant := codec.Decode(data, test.got), json.Unmarshal(data, test.want)
			if string(bytes.TrimSpace(data)) == "null" {
				continue
			}
			if (errGot == nil) != (errWant == nil) || errWant == nil && !cmp.Equal(test.got, test.want) {
				t.Fatalf("%q into %T: got %v, want %v", data, test.got, errGot, errWant)
			}
		}
	})
}

func BenchmarkEncode(b *testing.B) {
	for name, v := range map[string]any{"string": "hello, world", "int": 12345, "struct": item{"a", 1.5, nil}} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := codec.Encode(v, 0); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkDecode(b *testing.B) {
	var s string
	var n int
	var st item
	for name, test := range map[string]struct {
		data string
		into any
	}{"string": {`"hello, world"`, &s}, "int": {`12345`, &n}, "struct": {`{"SKU":"a","Price":1.5}`, &st}} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := codec.Decode([]byte(test.data), test.into); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
