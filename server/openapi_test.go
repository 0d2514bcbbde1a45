package server

// openapi.json is generated from the table of routes and the schemas in testdata; -update writes it.

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stepwell/stepwell/api"
	"github.com/stepwell/stepwell/internal/openapi"
	"github.com/stepwell/stepwell/internal/operate"
	"github.com/stepwell/stepwell/world/remote/wire"
)

var update = flag.Bool("update", false, "write openapi.json anew")

type object = map[string]any

var pathParam = regexp.MustCompile(`\{(\w+)\}`)

// generate describes the routes.
func generate(t *testing.T) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "schemas.json"))
	if err != nil {
		t.Fatal(err)
	}
	schemas := object{}
	if err := json.Unmarshal(text, &schemas); err != nil {
		t.Fatal(err)
	}
	types := newTypeSchemas(t, schemas)
	paths := object{}
	for _, rt := range routes() {
		if rt.wire != nil {
			continue
		}
		if rt.row != nil {
			types.operation(rt.row, &rt.op)
		}
		path := openAPIPath(rt.path)
		if paths[path] == nil {
			paths[path] = object{}
		}
		if rt.method != anyMethod {
			paths[path].(object)[strings.ToLower(rt.method)] = describe(&rt)
			continue
		}
		for _, method := range []string{"Get", "Post", "Put", "Patch", "Delete"} {
			o := describe(&rt)
			if method != "Post" {
				o["operationId"] = rt.op.id + method
			}
			if method == "Get" || method == "Delete" {
				delete(o, "requestBody")
			}
			paths[path].(object)[strings.ToLower(method)] = o
		}
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", " ")
	if err := enc.Encode(object{
		"openapi": "3.0.3",
		"info": object{
			"title": "Stepwell", "version": "1",
			"description": "Durable execution: runs of workflows, started, looked at and operated. Errors are problem documents with a stable code.",
			"license":     object{"name": "Apache-2.0"},
		},
		"paths": paths,
		"components": object{
			"schemas": schemas,
			"securitySchemes": object{"key": object{"type": "http", "scheme": "bearer", "description": "An API key. Scopes: viewer reads; " +
				"operator starts, sends and acts on one run; worker works on runs; admin forces, and acts on many; steps runs steps. x-scope says what an operation needs."}},
		},
		"security": []object{{"key": []string{}}},
	}); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// openAPIPath is a route's path, where a rest of several segments is a parameter like others.
func openAPIPath(path string) string { return strings.ReplaceAll(path, "...}", "}") }

func schemaRef(name string) object { return object{"$ref": "#/components/schemas/" + name} }

func describe(rt *route) object {
	op := &rt.op
	o := object{"operationId": op.id, "summary": op.summary, "x-scope": rt.scope}
	if rt.scope == Open {
		o["security"] = []object{}
	}
	params := []object{}
	for _, m := range pathParam.FindAllStringSubmatch(openAPIPath(rt.path), -1) {
		schema := schemaRef("Text")
		if m[1] == "act" {
			names := make([]string, 0, len(operate.All))
			for i := range operate.All {
				names = append(names, operate.All[i].Name)
			}
			slices.Sort(names)
			schema = object{"type": "string", "enum": names}
		}
		params = append(params, object{"name": m[1], "in": "path", "required": true, "schema": schema})
	}
	for _, p := range op.query {
		q := object{"name": p.name, "in": "query", "description": p.about, "schema": querySchema(rt, &p)}
		if strings.HasSuffix(p.name, ".") { // each name that begins so, as OpenAPI can say it: the properties of an object
			q["style"], q["explode"] = "form", true
		} else if p.many {
			q["style"], q["explode"] = "form", false
		}
		params = append(params, q)
	}
	if op.key != "" {
		params = append(params, object{"name": "Idempotency-Key", "in": "header", "description": op.key, "schema": schemaRef("Text")})
	}
	o["parameters"] = params
	if op.body != "" {
		o["requestBody"] = object{"required": !op.optional, "content": object{"application/json": object{"schema": schemaRef(op.body)}}}
	}
	if op.binary {
		o["requestBody"] = object{"required": true, "content": object{octets: object{"schema": object{"type": "string", "format": "binary"}}}}
	}
	if op.free {
		o["requestBody"] = object{"content": object{"*/*": object{"schema": object{"type": "string", "format": "binary"}}}}
	}
	answers := object{"default": object{"description": "What went wrong.", "content": object{"application/problem+json": object{"schema": schemaRef("Problem")}}}}
	for _, class := range []string{"2XX", "3XX", "4XX", "5XX"} {
		if op.free {
			answers[class] = object{"description": "What the workflow wants, or what went wrong.", "content": object{"*/*": object{"schema": object{"type": "string", "format": "binary"}}}}
		}
	}
	for _, a := range op.responses {
		status := strconv.Itoa(a.status)
		r, _ := answers[status].(object)
		if r == nil {
			r = object{"description": a.about}
		} else {
			r["description"] = r["description"].(string) + " " + a.about
		}
		content, _ := r["content"].(object)
		if content == nil {
			content = object{}
		}
		switch {
		case a.schema != "":
			content["application/json"] = object{"schema": schemaRef(a.schema)}
		case a.media != "":
			content[a.media] = object{"schema": object{"type": "string"}}
		}
		if len(content) > 0 {
			r["content"] = content
		}
		answers[status] = r
	}
	o["responses"] = answers
	return o
}

// querySchema returns the schema of a query parameter.
func querySchema(rt *route, p *param) object {
	if p.schema != "" {
		return schemaRef(p.schema)
	}
	for _, f := range rt.row.Fields {
		if f.Name == p.name && f.Place == api.InQuery {
			field := rt.row.In.Field(f.Index)
			if name := field.Type.Name(); field.Type.PkgPath() != "" && field.Type.Kind() == reflect.String {
				return schemaRef(name)
			}
			if field.Type == reflect.TypeFor[api.Span]() {
				return schemaRef("Duration")
			}
			is := object{"type": map[reflect.Kind]string{reflect.Int: "integer", reflect.Bool: "boolean", reflect.String: "string"}[field.Type.Kind()]}
			rules(is, field.Tag)
			return is
		}
	}
	panic("no field for the parameter " + p.name)
}

// TestRoutesTable: the table of docs/server.md lists all routes; -update writes it.
func TestRoutesTable(t *testing.T) {
	t.Parallel()
	path := filepath.Join("..", "docs", "data", "routes.tsv")
	text, err := os.ReadFile(path)
	if err != nil && !*update {
		t.Fatal(err)
	}
	var b strings.Builder
	b.WriteString("route\tscope\tdoes\tquery\n")
	for _, rt := range routes() {
		if rt.wire != nil {
			continue // docs/protocol.md has them
		}
		var names []string
		for _, p := range rt.op.query {
			if strings.HasSuffix(p.name, ".") {
				p.name += "…"
			}
			names = append(names, p.name)
		}
		method := rt.method
		if method == anyMethod {
			method = "ANY"
		}
		fmt.Fprintf(&b, "%s %s\t%s\t%s\t%s\n", method, rt.path, rt.scope, rt.op.summary, strings.Join(names, ", "))
	}
	want := b.String()
	if *update {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if strings.ReplaceAll(string(text), "\r\n", "\n") != want {
		t.Errorf("%s does not have the routes as they are; go test ./server -run TestRoutesTable -update writes it", path)
	}
}

// TestOpenAPI: what is served is what the routes say, and it uses all of its schemas. That it is valid is a test of internal/tools/against.
func TestOpenAPI(t *testing.T) {
	t.Parallel()
	want := generate(t)
	if *update {
		if err := os.WriteFile("openapi.json", want, 0o644); err != nil {
			t.Fatal(err)
		}
		openAPI = want
	}
	if got := bytes.ReplaceAll(openAPI, []byte("\r\n"), []byte("\n")); !bytes.Equal(got, want) {
		t.Errorf("openapi.json is not what the routes say; go test ./server -run TestOpenAPI -update writes it")
	}
	doc, err := openapi.Parse(want)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, rt := range routes() {
		if rt.op.id == "" || rt.op.summary == "" || rt.scope == "" || len(rt.op.responses) == 0 && rt.wire == nil {
			t.Errorf("%s %s: it needs a name, a summary, a scope and responses", rt.method, rt.path)
		}
		if seen[rt.op.id] {
			t.Errorf("two operations have the name %s", rt.op.id)
		}
		seen[rt.op.id] = true
	}
	for name := range doc.Components.Schemas {
		if !bytes.Contains(want, []byte(`"#/components/schemas/`+name+`"`)) {
			t.Errorf("nothing uses the schema %s", name)
		}
	}
}

// TestCallsTable: the table of docs/protocol.md lists the rows of the wire; -update writes it.
func TestCallsTable(t *testing.T) {
	t.Parallel()
	path := filepath.Join("..", "docs", "data", "calls.tsv")
	text, err := os.ReadFile(path)
	if err != nil && !*update {
		t.Fatal(err)
	}
	var b strings.Builder
	b.WriteString("call\tscope\tlimited key\tlost answer\tmessage\tanswer\tdoes\n")
	routes := map[string]bool{}
	for _, rt := range wireRoutes() {
		routes[strings.TrimPrefix(rt.path, wire.Prefix+"/")] = true
	}
	for _, r := range wire.Rows() {
		fmt.Fprintf(&b, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", r.Name, r.Scope, r.Guard, r.Lost, shape(r.In), shape(r.Out), r.Does)
		if !routes[r.Name] {
			t.Errorf("the server does not answer %s", r.Name)
		}
	}
	want := b.String()
	if *update {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if strings.ReplaceAll(string(text), "\r\n", "\n") != want {
		t.Errorf("%s does not have the rows as they are; go test ./server -run TestCallsTable -update writes it", path)
	}
}

// shape is a type of a message for people: a type of package world by its name, others by their members.
func shape(t reflect.Type) string {
	switch {
	case t == reflect.TypeFor[[]byte]():
		return "base64"
	case t.Kind() == reflect.Slice:
		return "[" + shape(t.Elem()) + "]"
	case t.Kind() != reflect.Struct:
		return t.String()
	case t.PkgPath() != reflect.TypeFor[wire.Row]().PkgPath():
		return t.Name()
	}
	return "{" + strings.Join(shapes(t), ", ") + "}"
}

func shapes(t reflect.Type) (all []string) {
	for f := range t.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch of := f.Type; {
		case f.Anonymous && of.PkgPath() == t.PkgPath():
			all = append(all, shapes(of)...)
		case f.Anonymous:
			all = append(all, "members of "+of.Name())
		case of.Kind() == reflect.Pointer && of.Elem().Kind() == reflect.Struct:
			all = append(all, name+": "+shape(of.Elem()))
		case of.Kind() == reflect.Slice && of.Elem().Kind() == reflect.Struct:
			all = append(all, name+": "+shape(of))
		default:
			all = append(all, name)
		}
	}
	return all
}
