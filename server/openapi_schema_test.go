package server

// Schemas of the operations of package api come from its types, their doc comments and their tags.

import (
	"encoding/json"
	"go/ast"
	"go/doc/comment"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stepwell/stepwell/api"
)

// typeSchemas makes schemas of Go types.
type typeSchemas struct {
	docs map[string]string // of types and of their fields: "Queue", "Queue.Name"
	made object            // by name; of a type with a schema by hand, that
}

// newTypeSchemas reads the doc comments of package api.
func newTypeSchemas(t *testing.T, made object) *typeSchemas {
	t.Helper()
	ts := &typeSchemas{docs: map[string]string{}, made: made}
	files, err := filepath.Glob(filepath.Join("..", "api", "*.go"))
	if err != nil || len(files) == 0 {
		t.Fatalf("package api: %d files, %v", len(files), err)
	}
	for _, path := range files {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, text, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range f.Decls {
			g, ok := d.(*ast.GenDecl)
			if !ok || g.Tok != token.TYPE {
				continue
			}
			for _, spec := range g.Specs {
				ts.read(spec.(*ast.TypeSpec), g.Doc)
			}
		}
	}
	return ts
}

func (ts *typeSchemas) read(spec *ast.TypeSpec, doc *ast.CommentGroup) {
	ts.docs[spec.Name.Name] = plainText(doc)
	is, ok := spec.Type.(*ast.StructType)
	if !ok {
		return
	}
	for _, f := range is.Fields.List {
		for _, name := range f.Names {
			text := plainText(f.Doc)
			if text == "" {
				text = plainText(f.Comment)
			}
			ts.docs[spec.Name.Name+"."+name.Name] = text
		}
	}
}

// plainText is a doc comment on one line, without links.
func plainText(doc *ast.CommentGroup) string {
	p := comment.Parser{}
	text := (&comment.Printer{TextWidth: -1}).Text(p.Parse(doc.Text()))
	return strings.TrimSpace(strings.ReplaceAll(string(text), "\n", " "))
}

// of returns the schema of a type: a reference if it has a name.
func (ts *typeSchemas) of(t reflect.Type) object {
	switch {
	case t == reflect.TypeFor[time.Time]():
		return object{"type": "string", "format": "date-time"}
	case t == reflect.TypeFor[json.RawMessage]():
		return object{"nullable": true}
	case t == reflect.TypeFor[api.Span](), t == reflect.TypeFor[api.Lasting]():
		return object{"type": "string"}
	case t == reflect.TypeFor[api.Position]():
		return object{"oneOf": []object{{"type": "integer", "minimum": 0}, {"type": "string"}}}
	case t == reflect.TypeFor[api.StartedRun](): // Existed is its status
		return ts.of(reflect.TypeFor[api.Run]())
	case ts.made[t.Name()] != nil && t.PkgPath() != "":
		return schemaRef(t.Name())
	}
	switch t.Kind() {
	case reflect.String:
		return object{"type": "string"}
	case reflect.Bool:
		return object{"type": "boolean"}
	case reflect.Int, reflect.Int64:
		return object{"type": "integer"}
	case reflect.Pointer:
		return ts.of(t.Elem())
	case reflect.Slice:
		list := object{"type": "array", "items": ts.of(t.Elem())}
		if t.Name() == "" {
			return list
		}
		ts.made[t.Name()] = list
		return schemaRef(t.Name())
	case reflect.Map:
		return object{"type": "object", "additionalProperties": ts.of(t.Elem())}
	case reflect.Struct:
		made := object{"type": "object", "additionalProperties": false}
		name := t.Name()
		if text := ts.docs[name]; text != "" {
			made["description"] = text
		}
		if name != "" {
			ts.made[name] = made
		}
		properties, required := object{}, []string{}
		ts.fields(t, properties, &required)
		made["properties"] = properties
		if len(required) > 0 {
			made["required"] = required
		}
		if name == "" {
			return made
		}
		return schemaRef(name)
	}
	panic("there is no schema of " + t.String())
}

// fields adds the members of a struct. Embedded structs give theirs.
func (ts *typeSchemas) fields(t reflect.Type, properties object, required *[]string) {
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case name == "-":
			continue
		case f.Anonymous:
			ts.fields(f.Type, properties, required)
			continue
		}
		is := ts.of(f.Type)
		if is["$ref"] == nil {
			rules(is, f.Tag)
			if text := ts.docs[t.Name()+"."+f.Name]; text != "" {
				is["description"] = text
			}
			if f.Type.Kind() == reflect.Pointer && !strings.Contains(options, "omit") {
				is["nullable"] = true
			}
		}
		properties[name] = is
		if !strings.Contains(options, "omit") {
			*required = append(*required, name)
		}
	}
}

// rules adds the rules of a tag to a schema; those of numbers to the values of a map.
func rules(is object, tag reflect.StructTag) {
	for rule, keyword := range map[string]string{"min": "minimum", "max": "maximum", "default": "default", "minItems": "minItems", "maxItems": "maxItems", "maxLength": "maxLength"} {
		if n, err := strconv.Atoi(api.Rule(tag, rule)); err == nil {
			to := is
			if values, ok := is["additionalProperties"].(object); ok {
				to = values
			}
			to[keyword] = n
		}
	}
	if text := api.Rule(tag, "example"); text != "" {
		is["example"] = text
		if is["type"] == "array" {
			is["example"] = []string{text}
		}
	}
	if text := api.Rule(tag, "enum"); text != "" {
		is["enum"] = strings.Split(text, "|")
	}
}

// operation adds the schemas of an operation, and completes its route's description.
func (ts *typeSchemas) operation(row *api.Row, op *operation) {
	if row.Out != reflect.TypeFor[api.None]() {
		ts.of(row.Out)
	}
	if row.Body {
		ts.of(row.In)
	}
	for _, f := range row.Fields {
		about := ts.docs[row.In.Name()+"."+row.In.Field(f.Index).Name]
		switch f.Place {
		case api.InHeader:
			op.key = about
		case api.InQuery:
			for i := range op.query {
				if op.query[i].name == f.Name && op.query[i].schema == "" {
					op.query[i].about = about
				}
			}
		}
	}
}
