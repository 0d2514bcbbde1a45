package against

// Schemas, as another validator reads them.

import (
	"bytes"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/stepwell/stepwell/internal/schematest"
)

// validator is one of JSON Schema, 2020-12.
func validator(t testing.TB, schema []byte) func([]byte) error {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(schema))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	if err := c.AddResource("x.json", doc); err != nil {
		t.Fatal(err)
	}
	is, err := c.Compile("x.json")
	if err != nil {
		t.Fatalf("it is no JSON Schema: %v\n%s", err, schema)
	}
	return func(document []byte) error {
		v, err := jsonschema.UnmarshalJSON(bytes.NewReader(document))
		if err != nil {
			return err
		}
		return is.Validate(v)
	}
}

func TestWhatIsMadeFits(t *testing.T) { schematest.WhatIsMadeFits(t, validator) }

func TestASchemaRefusesWhatTheTypeDoes(t *testing.T) { schematest.RefusesWhatTheTypeDoes(t, validator) }
