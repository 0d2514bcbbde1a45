package analysis

// Values that are recorded, and what of them JSON does not give back.

import (
	"fmt"
	"go/ast"
	"go/types"
	"reflect"
	"strings"
)

// unrecorded are generic functions of Stepwell whose values stay in memory.
var unrecorded = map[string]bool{"Go": true, "All": true, "Race": true, "Map": true, "HookPayload": true}

// roundTrips reports the types of values that are recorded and do not come back as they were.
func (c *code) roundTrips() {
	for cur := range c.root.Preorder((*ast.Ident)(nil)) {
		id := cur.Node().(*ast.Ident)
		f, ok := c.info.Uses[id].(*types.Func)
		if !ok || f.Pkg() == nil || !ofLibrary(f.Pkg().Path()) || strings.Contains(f.Pkg().Path(), "/internal/") || unrecorded[f.Name()] || f.Signature().Recv() != nil {
			continue
		}
		inst, ok := c.info.Instances[id]
		if !ok {
			continue
		}
		for t := range inst.TypeArgs.Types() {
			l := &losses{of: c.pass.Pkg, seen: map[types.Type]bool{}}
			if what := l.in(t, ""); what != "" {
				c.report(ruleRoundTrip, id, fmt.Sprintf("%s of %s: %s", f.Name(), types.TypeString(t, types.RelativeTo(c.pass.Pkg)), what))
				break
			}
		}
	}
}

// losses looks for what of a type JSON loses.
type losses struct {
	of   *types.Package
	seen map[types.Type]bool
}

// in says what is lost of a type, or "". The path is where in the whole it is.
func (l *losses) in(t types.Type, path string) string {
	t = types.Unalias(t)
	if l.seen[t] {
		return ""
	}
	l.seen[t] = true
	at := func(format string, args ...any) string {
		if path == "" {
			return "it " + fmt.Sprintf(format, args...)
		}
		return strings.TrimPrefix(path, ".") + " " + fmt.Sprintf(format, args...)
	}
	if _, ok := t.(*types.TypeParam); ok {
		return ""
	}
	if encodes(t) {
		return ""
	}
	switch u := t.Underlying().(type) {
	case *types.Basic:
		if u.Info()&types.IsComplex != 0 || u.Kind() == types.UnsafePointer {
			return at("is a %s, which JSON does not have", u)
		}
	case *types.Chan:
		return at("is a channel, which JSON does not have")
	case *types.Signature:
		return at("is a function, which JSON does not have")
	case *types.Interface:
		if u.NumMethods() > 0 {
			return at("is an interface, which cannot be read back: record a concrete type")
		}
	case *types.Pointer:
		return l.in(u.Elem(), path)
	case *types.Slice:
		return l.in(u.Elem(), path+"[]")
	case *types.Array:
		return l.in(u.Elem(), path+"[]")
	case *types.Map:
		if b, ok := u.Key().Underlying().(*types.Basic); (!ok || b.Info()&(types.IsString|types.IsInteger) == 0) && !encodes(u.Key()) {
			if _, param := types.Unalias(u.Key()).(*types.TypeParam); !param {
				return at("is a map whose keys are no strings")
			}
		}
		return l.in(u.Elem(), path+"[]")
	case *types.Struct:
		return l.fields(t, u, path)
	}
	return ""
}

func (l *losses) fields(t types.Type, s *types.Struct, path string) string {
	n, named := t.(*types.Named)
	ours := !named || n.Obj().Pkg() == l.of
	exported := 0
	hidden := ""
	for i := range s.NumFields() {
		f := s.Field(i)
		tag := reflect.StructTag(s.Tag(i)).Get("json")
		if tag == "-" || f.Name() == "_" {
			exported++ // left out on purpose
			continue
		}
		if !f.Exported() && !f.Embedded() {
			if !idle(f.Type()) && hidden == "" {
				hidden = f.Name()
			}
			continue
		}
		exported++
		name := path + "." + f.Name()
		if f.Embedded() {
			name = path
		}
		if what := l.in(f.Type(), name); what != "" {
			return what
		}
	}
	if hidden != "" && (ours || exported == 0) {
		what := "it"
		if path != "" {
			what = strings.TrimPrefix(path, ".")
		}
		return fmt.Sprintf("%s has the field %s, which is not exported, and so not recorded: it is a zero where the value is read; export it, or say `json:\"-\"`", what, hidden)
	}
	return ""
}

// idle are types of fields that hold no data.
func idle(t types.Type) bool {
	if s, ok := t.Underlying().(*types.Struct); ok && s.NumFields() == 0 {
		return true
	}
	n, ok := types.Unalias(t).(*types.Named)
	if !ok || n.Obj().Pkg() == nil {
		return false
	}
	path := n.Obj().Pkg().Path()
	return path == "sync" || path == "sync/atomic" || strings.HasPrefix(path, "google.golang.org/protobuf")
}

// encodes reports whether a type says itself how it is written.
func encodes(t types.Type) bool {
	set := types.NewMethodSet(t)
	if _, ok := t.(*types.Pointer); !ok && !types.IsInterface(t) {
		set = types.NewMethodSet(types.NewPointer(t))
	}
	for _, name := range []string{"MarshalJSON", "MarshalText", "MarshalJSONTo", "ProtoReflect"} {
		if set.Lookup(nil, name) != nil {
			return true
		}
	}
	return false
}
