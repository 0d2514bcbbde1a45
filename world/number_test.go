package world

import (
	"math/big"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// numberTexts are JSON numbers with their one text.
var numberTexts = map[string]string{
	"0": "0", "-0": "0", "-0.00": "0", "0e999": "0", "0e99999999999999999999": "0",
	"1": "1", "1.0": "1", "1e0": "1", "1E+0": "1", "10e-1": "1", "0.1e1": "1", "-1.50": "-1.5", "120": "120", "1.2e2": "120", "0.001": "0.001", "1e-3": "0.001",
	"12345678901234567890": "12345678901234567890", "1e20": "100000000000000000000", "1e21": "1e21", "1000000000000000000000": "1e21",
	"0.01e-18": "0.00000000000000000001", "1e-21": "0.000000000000000000001", "0.1e-21": "1e-22", "-12e400": "-12e400", "0.12E402": "12e400",
	"10e999999": "1e1000000", "1e99999999999999999999": "1e99999999999999999999",
}

func TestNumberText(t *testing.T) {
	t.Parallel()
	for s, want := range numberTexts {
		if got := numberText(s); got != want {
			t.Errorf("%s: got %s, want %s", s, got, want)
		}
		if got := numberText(want); got != want {
			t.Errorf("%s, the text of %s, has another: %s", want, s, got)
		}
	}
}

// Numbers are equal by their texts where they are by arithmetic, and nowhere else: so say matches, keys, templates, the values
// that waits listen to, and the texts by which attributes are found.
func TestNumbersAreEqualByOneRule(t *testing.T) {
	t.Parallel()
	equal := 0
	rapid.Check(t, func(t *rapid.T) {
		number := rapid.OneOf(
			rapid.StringMatching(`-?(0|[1-9][0-9]{0,3})(\.[0-9]{1,3})?([eE][+-]?[0-9]{1,2})?`),
			rapid.SampledFrom([]string{"1e20", "1e21", "0.1e-20", "100e19", "1e400", "10e399", "0.1e401"}),
		)
		a := number.Draw(t, "a")
		same := a
		if !strings.ContainsAny(a, ".eE") {
			same = a + ".0e0"
		}
		b := rapid.OneOf(number, rapid.Just(same), rapid.SampledFrom([]string{"1", "-1", "10", "0.5"})).Draw(t, "b")
		x, ok := new(big.Rat).SetString(a)
		y, fine := new(big.Rat).SetString(b)
		if !ok || !fine {
			t.Fatal(a, b)
		}
		want := x.Cmp(y) == 0
		if want {
			equal++
		}
		in := func(s string) []byte { return []byte(`{"n":` + s + `}`) }
		said := map[string]bool{"Contains": Contains(in(a), in(b))}
		for name, of := range map[string]func(s string) (string, error){
			"KeyAt":        func(s string) (string, error) { return KeyAt(in(s), "n") },
			"FillTemplate": func(s string) (string, error) { return FillTemplate("{payload.n}", &Message{Payload: in(s)}) },
			"Shape.Hash": func(s string) (string, error) {
				shape := Shape{Paths: [][]string{{"n"}}, Sum: SumOpen}
				h, _ := shape.Hash(in(s))
				return big.NewInt(h).String(), nil
			},
		} {
			one, err := of(a)
			two, bad := of(b)
			if err != nil || bad != nil {
				t.Fatal(err, bad)
			}
			said[name] = one == two
		}
		for name, got := range said {
			if got != want {
				t.Errorf("%s: %s and %s: equal: %v, want %v", name, a, b, got, want)
			}
		}
		if want && AttributeKey([]byte(a)) != AttributeKey([]byte(b)) {
			t.Errorf("AttributeKey: %s and %s have two", a, b)
		}
	})
	if equal == 0 {
		t.Fatal("no two were equal: the test proves nothing")
	}
}
