package server

// Who may set which member of which body on the wire is listed in testdata/members.txt. A member that is not listed fails
// TestWireMembersAreListed; TestWireMembers tries each that is restricted as every kind of key.

import (
	"encoding"
	"encoding/json"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stepwell/stepwell/internal/sample"
	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/remote/wire"
)

// whoSets are the words of the list, and the least key that sets such a member: of any other the request is refused.
// What is "dropped" is left out, or stands as it stood, below a worker; what is "signed" has the name of the key in it;
// "defined" is what the definition says, but for workers without a limit; nobody sets what is "ours", which the store
// writes whatever is said.
var whoSets = map[string]Scope{
	"viewer": Viewer, "operator": Operator, "worker": Worker, "whole": Worker, "admin": Admin,
	"dropped": Viewer, "signed": Viewer, "defined": Viewer, "ours": Viewer,
}

// membersOf adds the members of a type, by path.
func membersOf(t reflect.Type, path string, above []reflect.Type, out map[string]reflect.Type) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	t = wire.Form(t)
	switch {
	case t == reflect.TypeFor[time.Time](), t == reflect.TypeFor[json.RawMessage](), t == reflect.TypeFor[[]byte](), t == reflect.TypeFor[[][]byte](), t == reflect.TypeFor[[16]byte](),
		reflect.PointerTo(t).Implements(reflect.TypeFor[encoding.TextUnmarshaler]()):
	case t.Kind() == reflect.Slice:
		membersOf(t.Elem(), path+"[]", above, out)
	case t.Kind() == reflect.Map:
		membersOf(t.Elem(), path+"{}", above, out)
	case t.Kind() == reflect.Struct && !slices.Contains(above, t):
		for f := range t.Fields() {
			if f.Type == reflect.TypeFor[world.Commit]() { // it is what a member of it has again
				above = append(above, f.Type)
			}
		}
		for name, f := range fieldsOf(t) {
			out[path+"."+name] = f
			membersOf(f, path+"."+name, append(above, t), out)
		}
	}
}

// fieldsOf are the members of a struct as encoding/json has them: an outer one hides an inner one.
func fieldsOf(t reflect.Type) map[string]reflect.Type {
	out := map[string]reflect.Type{}
	for i := range t.NumField() {
		f := t.Field(i)
		if f.Anonymous && f.Tag.Get("json") == "" {
			for name, inner := range fieldsOf(f.Type) {
				if out[name] == nil {
					out[name] = inner
				}
			}
		}
	}
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "-" || f.Anonymous && name == "" || !f.IsExported() {
			continue
		}
		if name == "" {
			name = f.Name
		}
		out[name] = f.Type
	}
	return out
}

// listed reads testdata/members.txt: lines of a path, who sets these members of it, and their names.
func listed(t *testing.T) map[string]string {
	t.Helper()
	text, err := os.ReadFile("testdata/members.txt")
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for line := range strings.Lines(string(text)) {
		words := strings.Fields(line)
		if len(words) == 0 || words[0] == "#" {
			continue
		}
		if _, known := whoSets[words[1]]; !known || len(words) < 3 {
			t.Fatalf("members.txt: %q: want a path, who sets the members, and their names", line)
		}
		for _, name := range words[2:] {
			if path := words[0] + "." + name; out[path] != "" {
				t.Errorf("members.txt: %s is there twice", path)
			} else {
				out[path] = words[1]
			}
		}
	}
	return out
}

// wireBodies are the bodies on the wire, by the name of their route.
func wireBodies() map[string]route {
	out := map[string]route{}
	for _, rt := range wireRoutes() {
		if rt.wire != nil && rt.wire.In != nil && rt.op.id != "worldOutcome" { // it has the body of commit
			out[strings.TrimPrefix(rt.path, inWorld)] = rt
		}
	}
	return out
}

// TestWireMembersAreListed: each member of each body is listed with who may set it, and nothing else is.
func TestWireMembersAreListed(t *testing.T) {
	t.Parallel()
	all := map[string]reflect.Type{}
	for name, rt := range wireBodies() {
		membersOf(rt.wire.In, name, nil, all)
	}
	list := listed(t)
	missing := map[string][]string{}
	for _, path := range slices.Sorted(maps.Keys(all)) {
		if list[path] == "" {
			i := strings.LastIndexByte(path, '.')
			missing[path[:i]] = append(missing[path[:i]], path[i+1:])
		}
	}
	for _, path := range slices.Sorted(maps.Keys(missing)) {
		t.Errorf("members.txt does not say who sets: %s ? %s", path, strings.Join(missing[path], " "))
	}
	for path := range list {
		if all[path] == nil {
			t.Errorf("members.txt lists %s, which there is not", path)
		}
	}
}

// plainBodies are what the least key that a route lets in may send.
func plainBodies() map[string]string {
	now := world.Now().Format(time.RFC3339)
	return map[string]string{
		"commit":  birthOf("member", "nobody", now, "1", `, "retention": 3600000000000`),
		"deliver": `{"run": "target", "events": [{"type": "signal_received", ` + at + `, "name": "a"}]}`,
		"spread":  `{"revision": 1, "subscribe": {"name": "s", "pattern": "a", "queue": "q"}}`,
		"bindKey": `{"id": "k1"}`, "limitRetention": `{}`, "putSchedule": `{"name": "s", "says": {"workflow": "w", "times": ["@daily"]}}`,
	}
}

// with puts a value into a body, at a path of members of which those with [] are lists.
func with(body map[string]any, path string, value any) {
	name, rest, deeper := strings.Cut(path, ".")
	bare := strings.TrimSuffix(name, "[]")
	if !deeper {
		body[bare] = value
		return
	}
	inner, _ := body[bare].(map[string]any)
	if list, ok := body[bare].([]any); ok && len(list) > 0 {
		inner, _ = list[0].(map[string]any)
	}
	if inner == nil {
		inner = map[string]any{}
	}
	if body[bare] = inner; strings.HasSuffix(name, "[]") {
		body[bare] = []any{inner}
	}
	with(inner, rest, value)
}

// probe is a value of a type that is not its zero value.
func probe(t reflect.Type) any {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch {
	case t == reflect.TypeFor[time.Time]():
		return "2030-01-01T00:00:00Z"
	case t == reflect.TypeFor[[]byte]():
		return "AQID"
	case t == reflect.TypeFor[json.RawMessage]():
		return 1
	}
	switch t.Kind() {
	case reflect.String:
		return "x"
	case reflect.Bool:
		return true
	case reflect.Slice:
		return []any{probe(t.Elem())}
	case reflect.Map:
		return map[string]any{"x": probe(t.Elem())}
	case reflect.Struct:
		return map[string]any{}
	}
	return 1
}

// restrictedMember is a member that the least key of its route may not set, in an otherwise plain body.
type restrictedMember struct {
	path, call, body string
	least            Scope
	whole            bool // a limited worker may not set it either
}

// restrictedMembers are those of the list.
func restrictedMembers(t *testing.T) (out []restrictedMember) {
	t.Helper()
	all, bodies := map[string]reflect.Type{}, wireBodies()
	for name, rt := range bodies {
		membersOf(rt.wire.In, name, nil, all)
	}
	list := listed(t)
	for _, path := range slices.Sorted(maps.Keys(list)) {
		name, member, _ := strings.Cut(path, ".")
		least, route := whoSets[list[path]], bodies[name]
		if !least.covers(route.scope) || least == route.scope && list[path] != "whole" || restrictedAbove(list, path, route.scope) {
			continue // who may ask may say it
		}
		body := map[string]any{}
		plain := plainBodies()[name]
		if plain == "" {
			t.Errorf("%s: there is no plain body of the route", path)
			continue
		}
		if err := json.Unmarshal([]byte(plain), &body); err != nil {
			t.Fatal(err)
		}
		with(body, member, probe(all[path]))
		text, err := json.Marshal(body)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, restrictedMember{path, name, string(text), least, list[path] == "whole"})
	}
	return out
}

// TestWireMembers: a restricted member is refused to each key below it, and to nobody else; a limited key has what its
// route lets it have.
func TestWireMembers(t *testing.T) {
	t.Parallel()
	for _, kind := range sample.OneKey(t, kinds) {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			r := wireRig(t, kind)
			r.want(201, "POST", orders, `{"id": "target", "delay": "1h", "input": {}}`, as(operatorSecret)...)
			keys := []struct { // the least first: what one says stands for the next
				who, secret string
				scope       Scope
			}{{"viewer", viewerSecret, Viewer}, {"operator", operatorSecret, Operator}, {"limited worker", limitedSecret, Worker}, {"worker", workerSecret, Worker}, {"admin", adminSecret, Admin}}
			tried := 0
			for _, m := range restrictedMembers(t) {
				tried++
				for _, key := range keys {
					who := key.who
					a := r.send("POST", inWorld+m.call, m.body, as(key.secret)...)
					may := key.scope.covers(m.least) && !(m.whole && who == "limited worker")
					if refused := a.status == 403; refused == may && (who != "limited worker" || may == false) {
						t.Errorf("%s as %s: got %d %.200s, may set it is %t", m.path, who, a.status, a.body, may)
					}
				}
			}
			if tried < 20 {
				t.Errorf("%d members were tried, want all that are restricted", tried)
			}
		})
	}
}

// restrictedAbove reports whether what a member stands in is restricted too, and so tried for all of it.
func restrictedAbove(list map[string]string, path string, route Scope) bool {
	for i := strings.LastIndexByte(path, '.'); i > 0; i = strings.LastIndexByte(path, '.') {
		path = strings.TrimRight(path[:i], "[]{}")
		if who := list[path]; who != "" && who != "whole" && whoSets[who] != route && whoSets[who].covers(route) {
			return true
		}
	}
	return false
}
