package codec_test

// Tests of errors: what the log keeps of them is bounded, and errors.Is and errors.As hold when they are back.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/stepwell/stepwell/internal/codec"
	"github.com/stepwell/stepwell/world"
)

var errOutOfStock = errors.New("out of stock")

// declined is an error type with data, a code, and a cause.
type declined struct {
	Amount int    `json:"amount"`
	Reason string `json:"reason"`
	cause  error
}

func (d *declined) Error() string { return fmt.Sprintf("declined %d: %s", d.Amount, d.Reason) }
func (d *declined) Code() string  { return "DECLINED" }
func (d *declined) Unwrap() error { return d.cause }

// limitError is a value type with an Is method.
type limitError struct{ Max int }

func (limitError) Error() string        { return "over the limit" }
func (limitError) Is(target error) bool { return target == errOutOfStock }

type panicky struct{}

func (*panicky) Error() string { panic("boom") }

// circle wraps itself.
type circle struct{ next []error }

func (c *circle) Error() string   { return "circle" }
func (c *circle) Unwrap() []error { return c.next }

func registry() *codec.Registry {
	r := new(codec.Registry)
	for _, err := range []error{
		r.Sentinel("shop.ErrOutOfStock", errOutOfStock), codec.Type[*declined](r, "shop.Declined"), codec.Type[limitError](r, "shop.Limit"),
	} {
		if err != nil {
			panic(err)
		}
	}
	return r
}

// roundTrip sends an error through the log.
func roundTrip(t testing.TB, err error, reg *codec.Registry) (*world.Error, error) {
	t.Helper()
	data, e := json.Marshal(codec.FromError(err, reg))
	if e != nil {
		t.Fatal(e)
	}
	var rec *world.Error
	if e := json.Unmarshal(data, &rec); e != nil {
		t.Fatal(e)
	}
	return rec, codec.ToError(rec, reg)
}

func TestErrorRoundTrip(t *testing.T) {
	reg := registry()
	cause := fmt.Errorf("warehouse: %w", errOutOfStock)
	live := fmt.Errorf("order 7: %w", errors.Join(&declined{Amount: 5, Reason: "card", cause: context.DeadlineExceeded}, cause))
	rec, err := roundTrip(t, live, reg)
	if got, want := err.Error(), live.Error(); got != want {
		t.Errorf("message: got %q, want %q", got, want)
	}
	if got, want := rec.Code, "DECLINED"; got != want {
		t.Errorf("code: got %q, want %q", got, want)
	}
	if got, want := rec.Name, "*fmt.wrapError"; got != want {
		t.Errorf("name: got %q, want %q", got, want)
	}
	for _, s := range []error{errOutOfStock, context.DeadlineExceeded} {
		if !errors.Is(err, s) {
			t.Errorf("errors.Is(%v) does not hold", s)
		}
	}
	if errors.Is(err, context.Canceled) {
		t.Error("errors.Is holds for an error that it never was")
	}
	d, ok := errors.AsType[*declined](err)
	if !ok || d.Amount != 5 || d.Reason != "card" {
		t.Errorf("errors.AsType: got %+v, want the declined payment", d)
	}
	if again := codec.FromError(err, reg); !cmp.Equal(again, rec) {
		t.Errorf("second time: %s", cmp.Diff(rec, again))
	}
	if _, ok := errors.Unwrap(err).(interface{ Unwrap() []error }); !ok {
		t.Errorf("got %T below, want the join with its two errors", errors.Unwrap(err))
	}
}

func TestErrorIsMethod(t *testing.T) {
	_, open := os.Open("/no/such/file")
	for name, test := range map[string]struct {
		err, is error
	}{
		"own Is method":   {limitError{3}, errOutOfStock},
		"system error":    {open, fs.ErrNotExist},
		"value too large": {&codec.Error{Code: world.CodeTooLarge, Err: errors.New("big")}, world.ErrTooLarge},
		"world's":         {&world.TooEarlyError{}, &world.TooEarlyError{}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := roundTrip(t, test.err, registry())
			if got, want := errors.Is(err, test.is), name != "world's"; got != want {
				t.Errorf("errors.Is: got %v, want %v", got, want)
			}
		})
	}
	_, err := roundTrip(t, limitError{3}, registry())
	if l, ok := errors.AsType[limitError](err); !ok || l.Max != 3 {
		t.Errorf("got %v, want the limit 3", l)
	}
}

// TestErrorUnknownName: a registry without the name, or a type that changed, leaves message and causes.
func TestErrorUnknownName(t *testing.T) {
	rec := codec.FromError(fmt.Errorf("a: %w", &declined{Amount: 1, cause: errOutOfStock}), registry())
	for name, reg := range map[string]*codec.Registry{"none": nil, "empty": new(codec.Registry)} {
		err := codec.ToError(rec, reg)
		if got, want := err.Error(), "a: declined 1: "; got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
		if errors.Is(err, errOutOfStock) {
			t.Errorf("%s: errors.Is holds without a name for the sentinel", name)
		}
	}
	rec.Causes[0].Value = json.RawMessage(`{"amount":"five"}`)
	err := codec.ToError(rec, registry())
	if d, ok := errors.AsType[*declined](err); ok {
		t.Errorf("got %+v from a value that does not fit, want none", d)
	}
	if !errors.Is(err, errOutOfStock) {
		t.Error("the cause is lost with the value")
	}
}

func TestErrorBounds(t *testing.T) {
	chain := errors.New("bottom")
	for range 100 {
		chain = fmt.Errorf("w: %w", chain)
	}
	var wide []error
	for i := range 2000 {
		wide = append(wide, fmt.Errorf("item %d: %w", i, errors.New(strings.Repeat("\x01", 9000))))
	}
	self := &circle{}
	self.next = []error{self, nil, errOutOfStock, self}
	other := &circle{next: []error{self}}
	self.next = append(self.next, other)
	for name, err := range map[string]error{
		"long":      errors.New(strings.Repeat("é", 100_000)),
		"deep":      chain,
		"wide":      errors.Join(wide...),
		"circle":    self,
		"panic":     &panicky{},
		"nil in it": (*declined)(nil),
		"bad UTF-8": errors.New("a\xff\xfe"),
		"big value": &declined{Reason: strings.Repeat("x", 100_000)},
	} {
		t.Run(name, func(t *testing.T) {
			rec, back := roundTrip(t, err, registry())
			checkBounds(t, rec)
			if back.Error() == "" {
				t.Error("got no message")
			}
		})
	}
	rec := codec.FromError(errors.New(strings.Repeat("é", 100_000)), nil)
	if !strings.HasSuffix(rec.Message, "… (cut from 200000 bytes)") || len(rec.Message) < codec.MaxMessage-2 {
		t.Errorf("got %d bytes that end in %q, want the cut to be said", len(rec.Message), rec.Message[len(rec.Message)-40:])
	}
	if _, back := roundTrip(t, self, registry()); !errors.Is(back, errOutOfStock) {
		t.Error("the sentinel in the circle is lost")
	}
	if rec, _ := roundTrip(t, &panicky{}, nil); !strings.Contains(rec.Message, "boom") {
		t.Errorf("got %q, want the panic in it", rec.Message)
	}
}

func checkBounds(t interface {
	Helper()
	Errorf(string, ...any)
}, rec *world.Error) {
	t.Helper()
	data, err := json.Marshal(rec)
	if err != nil {
		t.Errorf("does not encode: %v", err)
	}
	if len(data) > codec.MaxError {
		t.Errorf("got %d bytes, want at most %d", len(data), codec.MaxError)
	}
	var walk func(e *world.Error) int
	walk = func(e *world.Error) int {
		if len(e.Message) > codec.MaxMessage {
			t.Errorf("got a message of %d bytes, want at most %d", len(e.Message), codec.MaxMessage)
		}
		depth := 0
		for _, c := range e.Causes {
			depth = max(depth, walk(c))
		}
		return depth + 1
	}
	if d := walk(rec); d > codec.MaxDepth {
		t.Errorf("got depth %d, want at most %d", d, codec.MaxDepth)
	}
}

// TestErrorProperties: any tree of errors is bounded, reads the same when it is back, and stays as it is from then on; where
// nothing was cut, errors.Is holds for the same sentinels.
func TestErrorProperties(t *testing.T) {
	reg := registry()
	sentinels := []error{errOutOfStock, context.Canceled, fs.ErrNotExist, world.ErrConflict}
	var gen func(depth int) *rapid.Generator[error]
	gen = func(depth int) *rapid.Generator[error] {
		return rapid.Custom(func(t *rapid.T) error {
			kind := rapid.IntRange(0, 7).Draw(t, "kind")
			if depth > 5 {
				kind %= 4
			}
			switch kind {
			case 0:
				return rapid.SampledFrom(sentinels).Draw(t, "sentinel")
			case 1:
				return errors.New(strings.Repeat(rapid.String().Draw(t, "text"), rapid.SampledFrom([]int{1, 1, 1, 2000}).Draw(t, "times")))
			case 2:
				return limitError{rapid.Int().Draw(t, "max")}
			case 3:
				return &declined{Amount: rapid.Int().Draw(t, "amount"), Reason: rapid.String().Draw(t, "reason")}
			case 4:
				return errors.Join(rapid.SliceOfN(gen(depth+1), 1, 4).Draw(t, "joined")...)
			case 5:
				return &declined{cause: gen(depth+1).Draw(t, "cause")}
			default:
				return fmt.Errorf("w: %w", gen(depth+1).Draw(t, "wrapped"))
			}
		})
	}
	rapid.Check(t, func(t *rapid.T) {
		live := gen(0).Draw(t, "error")
		rec := codec.FromError(live, reg)
		checkBounds(t, rec)
		back := codec.ToError(rec, reg)
		if again := codec.FromError(back, reg); !cmp.Equal(again, rec) {
			t.Fatalf("second time: %s", cmp.Diff(rec, again))
		}
		if strings.Contains(fmt.Sprintf("%+v", flat(rec)), "(cut from") {
			return
		}
		if got, want := back.Error(), strings.ToValidUTF8(live.Error(), "\uFFFD"); got != want {
			t.Fatalf("message: got %q, want %q", got, want)
		}
		for _, s := range sentinels {
			if got, want := errors.Is(back, s), errors.Is(live, s); got != want {
				t.Fatalf("errors.Is(%v): got %v, want %v", s, got, want)
			}
		}
		_, got := errors.AsType[*declined](back)
		_, want := errors.AsType[*declined](live)
		if got != want {
			t.Fatalf("errors.AsType: got %v, want %v", got, want)
		}
	})
}

// flat lists the messages of a tree.
func flat(rec *world.Error) []string {
	list := []string{rec.Message}
	for _, c := range rec.Causes {
		list = append(list, flat(c)...)
	}
	return list
}

func TestErrorNil(t *testing.T) {
	if rec := codec.FromError(nil, nil); rec != nil {
		t.Errorf("got %v, want nil", rec)
	}
	if err := codec.ToError(nil, nil); err != nil {
		t.Errorf("got %v, want nil", err)
	}
}

// TestRegistryRefuses: and says what it was to know, and what stands in the way.
func TestRegistryRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		register func(r *codec.Registry) error
		says     []string
	}{
		"name taken":         {func(r *codec.Registry) error { return r.Sentinel("shop.ErrOutOfStock", errors.New("sold")) }, []string{"shop.ErrOutOfStock", errOutOfStock.Error(), "sold"}},
		"error taken":        {func(r *codec.Registry) error { return r.Sentinel("other", errOutOfStock) }, []string{"other", "shop.ErrOutOfStock"}},
		"standard name":      {func(r *codec.Registry) error { return r.Sentinel("io.EOF", errors.New("sold")) }, []string{"io.EOF", "sold"}},
		"nil":                {func(r *codec.Registry) error { return r.Sentinel("nothing", nil) }, []string{"nothing", "nil"}},
		"no name":            {func(r *codec.Registry) error { return r.Sentinel("", errors.New("x")) }, []string{"1 to"}},
		"type without name":  {func(r *codec.Registry) error { return codec.Type[*circle](r, "") }, []string{"1 to"}},
		"type's name":        {func(r *codec.Registry) error { return r.Sentinel("shop.Declined", errors.New("sold")) }, []string{"shop.Declined", "*codec_test.declined", "sold"}},
		"sentinel's name":    {func(r *codec.Registry) error { return codec.Type[*circle](r, "shop.ErrOutOfStock") }, []string{"shop.ErrOutOfStock", errOutOfStock.Error(), "*codec_test.circle"}},
		"type name taken":    {func(r *codec.Registry) error { return codec.Type[*circle](r, "shop.Declined") }, []string{"shop.Declined", "*codec_test.declined", "*codec_test.circle"}},
		"type taken":         {func(r *codec.Registry) error { return codec.Type[*declined](r, "other") }, []string{"other", "*codec_test.declined", "shop.Declined"}},
		"interface":          {func(r *codec.Registry) error { return codec.Type[error](r, "any") }, []string{"any", "interface"}},
		"cannot be compared": {func(r *codec.Registry) error { return r.Sentinel("s", uncomparable{"x"}) }, []string{"codec_test.uncomparable"}},
	} {
		t.Run(name, func(t *testing.T) {
			err := c.register(registry())
			if !errors.Is(err, world.ErrInvalid) {
				t.Fatalf("got %v, want ErrInvalid", err)
			}
			for _, want := range c.says {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("got %q, want %q in it", err, want)
				}
			}
		})
	}
	r := registry() // the same again is legal
	if err := errors.Join(r.Sentinel("shop.ErrOutOfStock", errOutOfStock), codec.Type[*declined](r, "shop.Declined")); err != nil {
		t.Error(err)
	}
}

type uncomparable []string

func (uncomparable) Error() string { return "uncomparable" }

func TestErrorUncomparable(t *testing.T) {
	_, err := roundTrip(t, fmt.Errorf("a: %w", uncomparable{"b"}), registry())
	if errors.Is(err, uncomparable{"b"}) {
		t.Error("errors.Is holds for an error that cannot be compared")
	}
	if got, want := err.Error(), "a: uncomparable"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestAMessageIsCutOnce: what was cut, and is part of another error by then, says once how large it was.
func TestAMessageIsCutOnce(t *testing.T) {
	const size = 5 << 20
	err := errors.New(strings.Repeat("x", size))
	for _, around := range []string{"step", "run", "parent"} {
		rec := codec.FromError(fmt.Errorf("%s: %w", around, err), nil)
		note := fmt.Sprintf("… (cut from %d bytes)", size+len("step: "))
		if n := strings.Count(rec.Message, "(cut from"); n != 1 || !strings.HasSuffix(rec.Message, note) || len(rec.Message) > codec.MaxMessage {
			t.Errorf("%s: cut %d times, it ends in %q, want %q", around, n, rec.Message[len(rec.Message)-80:], note)
		}
		err = codec.ToError(rec, nil)
	}
}
