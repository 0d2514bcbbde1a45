package schema

// This file holds JSON against a schema.

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

	"github.com/stepwell/stepwell/world"
)

// Bounds of a check: what comes behind them is not looked at, and so fits.
const (
	mostFaults = 10
	mostWork   = 1 << 20
	mostChain  = 32 // of references and texts within texts that lead to no other value
)

// Check finds where JSON does not fit, at most ten places. What is no JSON fits: others refuse it.
func (s *Schema) Check(data []byte) []world.Misfit {
	if s == nil {
		return nil
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil
	}
	c := checker{root: s, left: mostWork}
	c.check(s, v, "", 0)
	return c.faults
}

type checker struct {
	root   *Schema
	faults []world.Misfit
	left   int
}

func (c *checker) refuse(at, expected, got string) {
	if len(c.faults) < mostFaults {
		c.faults = append(c.faults, world.Misfit{Pointer: at, Expected: expected, Got: got})
	}
}

func (c *checker) check(s *Schema, v any, at string, chain int) {
	if c.left--; s == nil || c.left < 0 || len(c.faults) == mostFaults || chain > mostChain {
		return
	}
	if s.Ref != "" {
		before := len(c.faults)
		if c.check(c.root.Defs[refName(s.Ref)], v, at, chain+1); len(c.faults) > before {
			return
		}
	}
	if typ := typeOf(v); !s.Accepts(typ) && (typ != "number" || !s.Accepts("integer")) {
		c.refuse(at, s.expected(), got(v))
		return
	}
	switch v := v.(type) {
	case json.Number:
		c.number(s, string(v), at)
	case string:
		c.text(s, v, at, chain)
	case []any:
		for i, e := range v {
			is := s.Items
			if i < len(s.PrefixItems) {
				is = s.PrefixItems[i]
			}
			c.check(is, e, at+"/"+strconv.Itoa(i), 0)
		}
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			at := at + "/" + escape(name)
			if s.PropertyNames != nil && !fitsInteger(s.PropertyNames.Format, name) {
				c.refuse(at, "a name that is "+phrase(s.PropertyNames.Format), strconv.Quote(cut(name)))
			}
			is := s.Properties.find(name)
			if is == nil {
				is = s.AdditionalProperties
			}
			c.check(is, v[name], at, 0)
		}
	}
}

func (c *checker) number(s *Schema, literal, at string) {
	if len(s.Type) == 0 {
		return
	}
	fits := true
	switch {
	case !s.Accepts("number"): // an integer, as JSON Schema has it, may be 1.0, which no whole number of Go is
		fits = fitsInteger(s.Format, literal)
	case s.Format == "float" || s.Format == "double":
		bits := 64
		if s.Format == "float" {
			bits = 32
		}
		_, err := strconv.ParseFloat(literal, bits)
		fits = err == nil
	}
	if !fits {
		c.refuse(at, s.expected(), cut(literal))
	}
}

func (c *checker) text(s *Schema, text, at string, chain int) {
	switch {
	case s.Format == "date-time":
		if err := new(time.Time).UnmarshalText([]byte(text)); err != nil {
			c.refuse(at, s.expected(), strconv.Quote(cut(text)))
		}
	case s.ContentEncoding == "base64":
		if _, err := base64.StdEncoding.DecodeString(text); err != nil {
			c.refuse(at, s.expected(), strconv.Quote(cut(text)))
		}
	case s.ContentSchema != nil:
		c.quoted(s.ContentSchema, text, at, chain)
	}
}

// quoted checks a value that stands in a text. encoding/json reads it by other rules than JSON's, so a number may have zeros in front.
func (c *checker) quoted(s *Schema, text, at string, chain int) {
	var v any
	switch is := s.resolve(c.root); {
	case text == "null":
		return
	case is.Format != "" && text != "" && (text[0] == '-' || text[0] >= '0' && text[0] <= '9'):
		v = json.Number(text)
	case json.Unmarshal([]byte(text), &v) != nil, strings.TrimSpace(text) != text, len(is.Type) == 0:
		if len(is.Type) > 0 {
			c.refuse(at, "a text that holds "+is.expected(), strconv.Quote(cut(text)))
		}
		return
	}
	before := len(c.faults)
	if c.check(s, v, at, chain+1); len(c.faults) > before {
		c.faults[before].Expected = "a text that holds " + c.faults[before].Expected
	}
}

// fitsInteger reports whether a number is in a format such as int64; in none of them any whole number is.
func fitsInteger(format, literal string) bool {
	if bits, err := strconv.Atoi(strings.TrimPrefix(format, "uint")); err == nil {
		_, err := strconv.ParseUint(literal, 10, bits)
		return err == nil
	}
	if bits, err := strconv.Atoi(strings.TrimPrefix(format, "int")); err == nil {
		_, err := strconv.ParseInt(literal, 10, bits)
		return err == nil
	}
	return !strings.ContainsAny(literal, ".eE")
}

func typeOf(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case json.Number, float64:
		return "number"
	case string:
		return "string"
	case []any:
		return "array"
	}
	return "object"
}

// got says what is there instead.
func got(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case bool:
		return strconv.FormatBool(v)
	case json.Number:
		return cut(string(v))
	case string:
		return "the text " + strconv.Quote(cut(v))
	case []any:
		return "an array"
	}
	return "an object"
}

// Words say what a schema takes, and what that means where it is known.
func (s *Schema) Words() string {
	words := "anything"
	if len(s.Type) > 0 {
		words = s.expected()
	}
	if s.Description != "" {
		words += ": " + s.Description
	}
	if s.AdditionalProperties != nil {
		words += " with any names"
	}
	return words
}

// expected says what a schema takes, in words. null is not said: nobody means to send it.
func (s *Schema) expected() string {
	var words []string
	for _, typ := range s.Type {
		switch typ {
		case "null":
		case "integer":
			words = append(words, phrase(s.Format))
		case "string":
			switch {
			case s.Format == "date-time":
				words = append(words, "a time such as 2026-05-01T12:00:00Z")
			case s.ContentEncoding == "base64":
				words = append(words, "bytes in base64")
			case s.ContentSchema != nil:
				words = append(words, "a text that holds "+s.ContentSchema.expected())
			default:
				words = append(words, "a text")
			}
		case "number":
			words = append(words, "a number")
		case "boolean":
			words = append(words, "true or false")
		case "array":
			words = append(words, "an array")
		case "object":
			words = append(words, "an object")
		}
	}
	if len(words) == 0 {
		return "null"
	}
	return strings.Join(words, " or ")
}

// phrase says what numbers a format has.
func phrase(format string) string {
	if bits, ok := strings.CutPrefix(format, "uint"); ok {
		n, err := strconv.Atoi(bits)
		if err != nil || n > 32 || n < 1 {
			return "a whole number from 0"
		}
		return fmt.Sprintf("a whole number from 0 to %d", uint64(1)<<n-1)
	}
	if bits, ok := strings.CutPrefix(format, "int"); ok {
		if n, err := strconv.Atoi(bits); err == nil && n <= 32 && n > 0 {
			return fmt.Sprintf("a whole number from %d to %d", -(int64(1) << (n - 1)), int64(1)<<(n-1)-1)
		}
	}
	return "a whole number"
}

// escape makes a part of a JSON pointer.
func escape(name string) string {
	return strings.NewReplacer("~", "~0", "/", "~1").Replace(name)
}

func cut(text string) string {
	const most = 60
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "…"
}
