package against

// The server's description is OpenAPI, and what holds the server's answers to it says what another library says.

import (
	"encoding/base64"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"pgregory.net/rapid"

	"github.com/stepwell/stepwell/internal/openapi"
)

// described is the server's description, as both read it.
func described(t *testing.T) (*openapi.Document, *openapi3.T) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "server", "openapi.json"))
	if err != nil {
		t.Fatal(err)
	}
	ours, err := openapi.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	theirs, err := openapi3.NewLoader().LoadFromData(text)
	if err != nil {
		t.Fatal(err)
	}
	return ours, theirs
}

func TestOpenAPI(t *testing.T) {
	_, theirs := described(t)
	if err := theirs.Validate(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestOperationsOfOpenAPI: both find the same operations, and the same schema for an answer with any status and type.
func TestOperationsOfOpenAPI(t *testing.T) {
	ours, theirs := described(t)
	if len(ours.Paths) != theirs.Paths.Len() {
		t.Errorf("got %d paths, want %d", len(ours.Paths), theirs.Paths.Len())
	}
	for path, item := range theirs.Paths.Map() {
		if got, want := len(ours.Paths[path]), len(item.Operations()); got != want {
			t.Errorf("%s: got %d operations, want %d", path, got, want)
		}
		for method, op := range item.Operations() {
			is := ours.Paths[path][strings.ToLower(method)]
			if is == nil || is.ID != op.OperationID {
				t.Fatalf("%s %s: got %+v, want %s", method, path, is, op.OperationID)
			}
			for _, status := range []int{100, 200, 201, 202, 204, 302, 303, 404, 409, 500, 503} {
				r, want := is.Answer(status), op.Responses.Status(status)
				if (r == nil) != (want == nil) {
					t.Fatalf("%s %s: got %v for %d, want %v", method, path, r, status, want)
				}
				if r == nil {
					continue
				}
				for _, media := range []string{"", "application/json", "application/json; charset=utf-8", "application/problem+json", "application/octet-stream",
					"application/x-ndjson", "text/plain", "text/plain; charset=utf-8", "text/event-stream", "image/png"} {
					got, want := r.Of(media), want.Value.Content.Get(media)
					if (got == nil) != (want == nil) || got != nil && (got.Ref != want.Schema.Ref || got.Type == "" && got.Ref == "") {
						t.Errorf("%s %s: got %+v for %d with %q, want %+v", method, path, got, status, media, want)
					}
				}
			}
		}
	}
}

// TestSchemasOfOpenAPI: each schema, and each part of one, lets the same extremes in for both; so does a schema with documents that mostly fit it.
func TestSchemasOfOpenAPI(t *testing.T) {
	ours, theirs := described(t)
	openapi3.DefineStringFormatValidator("byte", openapi3.NewCallbackValidator(func(v string) error { // theirs looks at the letters alone
		_, err := base64.StdEncoding.DecodeString(v)
		return err
	}))
	for _, name := range slices.Sorted(maps.Keys(ours.Components.Schemas)) {
		s, want := ours.Components.Schemas[name], theirs.Components.Schemas[name]
		t.Run(name, func(t *testing.T) {
			parts(t, s, want)
			fit, unfit := 0, 0
			rapid.Check(t, func(t *rapid.T) {
				wrong := rapid.SampledFrom([]int{0, 40, 8, 3}).Draw(t, "wrong")
				if agree(t, s, want.Value, document(t, s, wrong, 0)) {
					fit++
				} else {
					unfit++
				}
			})
			if fit < 10 || unfit == 0 && s.Type != "" { // without a type it takes all but null
				t.Errorf("of the documents %d fit and %d do not: that says little", fit, unfit)
			}
		})
	}
}

// agree holds that both say the same of a document. It reports whether it fits.
func agree(t rapid.TB, s *openapi.Schema, want *openapi3.Schema, v any) bool {
	t.Helper()
	faults, err := s.Check(v), want.VisitJSON(v, openapi3.MultiErrors())
	if (len(faults) == 0) != (err == nil) {
		t.Fatalf("%.300v: got %v, want %v", v, faults, err)
	}
	return err == nil
}

// parts gives a schema, and all that stand within it, each extreme.
func parts(t *testing.T, s *openapi.Schema, want *openapi3.SchemaRef) {
	t.Helper()
	if s == nil || want == nil || want.Value == nil {
		if (s == nil) != (want == nil) {
			t.Errorf("got %+v, want %+v", s, want)
		}
		return
	}
	for _, v := range extremes {
		agree(t, s, want.Value, v)
	}
	if s.Ref != "" {
		return
	}
	for name, p := range s.Properties {
		parts(t, p, want.Value.Properties[name])
	}
	for i, one := range s.OneOf {
		parts(t, one, want.Value.OneOf[i])
	}
	parts(t, s.Items, want.Value.Items)
	if more := want.Value.AdditionalProperties.Schema; more != nil {
		parts(t, s.AdditionalProperties, more)
	}
}

// document makes a value that fits a schema, but for one place in so many; 0: none.
func document(t *rapid.T, s *openapi.Schema, wrong, depth int) any {
	s = s.Resolve()
	if wrong > 0 && rapid.IntRange(1, wrong).Draw(t, "wrong") == 1 {
		return anything(t)
	}
	if s.Nullable && rapid.Bool().Draw(t, "null") {
		return nil
	}
	if len(s.OneOf) > 0 {
		return document(t, rapid.SampledFrom(s.OneOf).Draw(t, "one"), wrong, depth)
	}
	if len(s.Enum) > 0 {
		return rapid.SampledFrom(s.Enum).Draw(t, "enum")
	}
	switch s.Type {
	case "integer":
		from, to := 0.0, 1e6
		if s.Minimum != nil {
			from = *s.Minimum
		}
		if s.Maximum != nil {
			to = *s.Maximum
		}
		return float64(rapid.IntRange(int(from), int(to)).Draw(t, "number"))
	case "boolean":
		return rapid.Bool().Draw(t, "bool")
	case "string":
		switch s.Format {
		case "date-time":
			return rapid.SampledFrom([]string{"2026-05-01T12:00:00Z", "2026-05-01T12:00:00.123+02:00"}).Draw(t, "time")
		case "byte":
			return rapid.SampledFrom([]string{"", "aGk=", "+/+/"}).Draw(t, "bytes")
		}
		return rapid.SampledFrom([]string{"", "a", "é"}).Draw(t, "text")
	case "array":
		least, most := 0, 3
		if s.MinItems != nil {
			least = *s.MinItems
		}
		if depth > 4 {
			most = least
		}
		list := []any{}
		for range rapid.IntRange(least, max(least, most)).Draw(t, "length") {
			list = append(list, document(t, s.Items, wrong, depth+1))
		}
		return list
	case "object":
		object := map[string]any{}
		for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
			required := slices.Contains(s.Required, name) && (wrong == 0 || rapid.IntRange(0, wrong).Draw(t, "required") > 0)
			if required || depth < 4 && rapid.IntRange(0, 3).Draw(t, "there") == 0 {
				object[name] = document(t, s.Properties[name], wrong, depth+1)
			}
		}
		if more := s.AdditionalProperties; more != nil && (len(s.Properties) == 0 || wrong > 0) && rapid.Bool().Draw(t, "more") {
			if wrong > 0 {
				object["more"] = anything(t)
			} else if len(more.Check(0.0)) == 0 || more.Resolve().Type != "" { // not the schema false
				object["more"] = document(t, more, wrong, depth+1)
			}
		}
		return object
	}
	return anything(t)
}

// extremes are values that are on some side of most rules.
var extremes = []any{
	nil, true, -1.0, 0.0, 1.0, 5.0, 1.5, 101.0, 201.0, 1001.0, 10001.0, 36526.0, 1e6 + 1, 1e19, -1e19, "", "a", "2026-05-01", "2026-05-01T1:00:00Z", "2026-13-01T12:00:00Z", "!!",
	strings.Repeat("é", 128), strings.Repeat("x", 129), strings.Repeat("é", 256), strings.Repeat("x", 257), strings.Repeat("é", 512), strings.Repeat("é", 513),
	[]any{}, []any{"a"}, []any{1.0}, []any{nil}, slices.Repeat([]any{"a"}, 33), slices.Repeat([]any{"a"}, 1001), map[string]any{}, map[string]any{"a": "b"}, map[string]any{"a": 101.0},
}

func anything(t *rapid.T) any { return rapid.SampledFrom(extremes).Draw(t, "anything") }
