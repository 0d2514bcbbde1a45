package server

// The schemas of schemas.json are written by hand. What they say of members is held against the types that are written and read.

import (
	"encoding"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/internal/operate"
	"github.com/stepwell/stepwell/world"
)

// saidTypes are what is written under each schema; readTypes are what is read. What they refer to need not be here.
var (
	saidTypes = map[string]reflect.Type{
		"Accepted": reflect.TypeFor[accepted](), "Bulked": reflect.TypeFor[bulked](), "EventPage": reflect.TypeFor[eventPage](), "Health": reflect.TypeFor[health](),
		"Hooks": reflect.TypeFor[[]hook](), "Journal": reflect.TypeFor[shownJournal](), "Manifest": reflect.TypeFor[manifest](), "OpenHook": reflect.TypeFor[openHook](),
		"Problem": reflect.TypeFor[Problem](), "Run": reflect.TypeFor[stepwell.RunInfo](), "RunPage": reflect.TypeFor[runPage](), "StreamList": reflect.TypeFor[streamList](),
		"WebhookAccepted": reflect.TypeFor[webhookAccepted](), "Why": reflect.TypeFor[stepwell.Why](), "UploadedBlob": reflect.TypeFor[uploadedBlob](), "Workers": reflect.TypeFor[[]worker](),
		"Workflows": reflect.TypeFor[[]counts](), "Versions": reflect.TypeFor[operate.Versions](), "Failures": reflect.TypeFor[operate.Failures](), "Class": reflect.TypeFor[world.Class](),
		"InLine": reflect.TypeFor[world.InLine](), "LimitHolder": reflect.TypeFor[world.LimitHolder](), "StartTarget": reflect.TypeFor[world.StartTarget](),
		"StepsTaken": reflect.TypeFor[claimedSteps](), "StepsBeaten": reflect.TypeFor[heardSteps](), "StepFailed": reflect.TypeFor[stepFailed](),
		"StepWritten": reflect.TypeFor[stepWritten](),
	}
	readTypes = map[string]reflect.Type{
		"Bulk": reflect.TypeFor[bulk](), "Empty": reflect.TypeFor[struct{}](),
		"StepTake": reflect.TypeFor[stepClaim](), "StepBeat": reflect.TypeFor[stepHeartbeat](), "StepOutput": reflect.TypeFor[stepOutput](),
		"StepFailure": reflect.TypeFor[stepFailure](), "StepWrite": reflect.TypeFor[stepWrite](), "StepWorker": reflect.TypeFor[stepWorker](),
	}
)

// apiTypes are the types of package api: their schemas come from them.
var apiTypes = map[string]bool{"Held": true}

// TestMembers: each member of an answer or a body is in its schema, each member of a schema is in what is answered or read, and what is always there is required.
func TestMembers(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join("testdata", "schemas.json"))
	if err != nil {
		t.Fatal(err)
	}
	m := members{t: t, schemas: map[string]*schema{}, seen: map[string]bool{}}
	if err := json.Unmarshal(text, &m.schemas); err != nil {
		t.Fatal(err)
	}
	for name, typ := range saidTypes {
		m.answer = true
		m.hold(name, &schema{Ref: "#/components/schemas/" + name}, typ)
	}
	for name, typ := range readTypes {
		m.answer = false
		m.hold(name, &schema{Ref: "#/components/schemas/" + name}, typ)
	}
	for name, s := range m.schemas {
		if s.Properties != nil && !m.seen[name] {
			t.Errorf("%s: no type stands for it: name it here", name)
		}
	}
}

// schema is what is of interest of one.
type schema struct {
	Ref        string             `json:"$ref"`
	Type       string             `json:"type"`
	Properties map[string]*schema `json:"properties"`
	Items      *schema            `json:"items"`
	More       json.RawMessage    `json:"additionalProperties"`
	Required   []string           `json:"required"`
	AllOf      []*schema          `json:"allOf"`
}

type members struct {
	t       *testing.T
	schemas map[string]*schema
	seen    map[string]bool
	answer  bool
}

// hold holds a schema against a type.
func (m *members) hold(at string, s *schema, t reflect.Type) {
	if len(s.AllOf) == 1 {
		s = s.AllOf[0]
	}
	if s.Ref != "" {
		name := strings.TrimPrefix(s.Ref, "#/components/schemas/")
		if m.seen[name] {
			return
		}
		m.seen[name] = true
		if at, s = name, m.schemas[name]; s == nil && apiTypes[name] {
			return
		} else if s == nil {
			m.t.Errorf("%s: there is no such schema", at)
			return
		}
	}
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if p := reflect.PointerTo(t); p.Implements(reflect.TypeFor[json.Marshaler]()) || p.Implements(reflect.TypeFor[encoding.TextMarshaler]()) || p.Implements(reflect.TypeFor[json.Unmarshaler]()) {
		return
	}
	switch {
	case t.Kind() == reflect.Slice && s.Items != nil:
		m.hold(at+"[]", s.Items, t.Elem())
	case t.Kind() == reflect.Map:
		var each schema
		if json.Unmarshal(s.More, &each) == nil {
			m.hold(at+"{}", &each, t.Elem())
		}
	case t.Kind() == reflect.Struct:
		m.holdFields(at, s, t)
	}
}

func (m *members) holdFields(at string, s *schema, t reflect.Type) {
	fields, always := map[string]reflect.Type{}, []string{}
	jsonFields(t, fields, &always)
	for name := range fields {
		if s.Properties[name] == nil {
			m.t.Errorf("%s: the schema has no member %s, of %s", at, name, t)
		}
	}
	for name, of := range s.Properties {
		if fields[name] == nil {
			m.t.Errorf("%s: the schema has a member %s, and %s has none", at, name, t)
			continue
		}
		m.hold(at+"."+name, of, fields[name])
	}
	slices.Sort(always)
	if got := slices.Sorted(slices.Values(s.Required)); m.answer && !slices.Equal(got, always) {
		m.t.Errorf("%s: the schema requires %v, and %s always has %v", at, got, t, always)
	}
}

// jsonFields are the members of a struct as encoding/json has them, and those that are always there: what is embedded gives way.
func jsonFields(t reflect.Type, fields map[string]reflect.Type, always *[]string) {
	var embedded []reflect.Type
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case name == "-":
		case f.Anonymous && name == "":
			embedded = append(embedded, f.Type)
		case f.IsExported() && fields[name] == nil:
			if fields[name] = f.Type; !strings.Contains(options, "omit") {
				*always = append(*always, name)
			}
		}
	}
	for _, e := range embedded {
		for e.Kind() == reflect.Pointer {
			e = e.Elem()
		}
		jsonFields(e, fields, always)
	}
}
