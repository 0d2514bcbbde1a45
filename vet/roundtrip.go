package vet

// Values that are recorded, and what of them JSON does not give back.

import (
	"fmt"
	"go/ast"
	"go/types"
	"reflect"
	"slices"
	"strings"
)

// roundTrips reports the types of values that are recorded and do not come back as they were.
func (c *code) roundTrips() {
	for cur := range c.root.Preorder((*ast.Ident)(nil)) {
		id := cur.Node().(*ast.Ident)
		f, ok := c.info.Uses[id].(*types.Func)
		if !ok || f.Pkg() == nil || !ofLibrary(f.Pkg().Path()) || strings.Contains(f.Pkg().Path(), "/internal/") || f.Signature().Recv() != nil {
			continue
		}
		inst, ok := c.info.Instances[id]
		if !ok {
			continue
		}
		for t := range inst.TypeArgs.Types() {
			if c.once.holding.holds(t) {
				c.report(ruleContext, id, fmt.Sprintf("what %s returns has the workflow's Context: it may be used by the code alone that was given it; hand it on as a parameter", f.Name()))
				break
			}
			if speaks.memory[f.Name()] {
				continue
			}
			l := &losses{of: c.pass.Pkg, seen: map[types.Type]bool{}}
			if what := l.in(t, "", false); what != "" {
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

// in says what is lost of a type, or "". The path is where in the whole it is; pointed: there is a pointer to it, whose
// methods count.
func (l *losses) in(t types.Type, path string, pointed bool) string {
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
	if from := l.speaker(t); from != "" {
		return at("takes its JSON from %s, which it embeds, and nothing else of it is recorded: give that field a name", from)
	}
	if encodes(t) {
		if what := l.half(t, pointed); what != "" {
			return at("%s", what)
		}
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
		return l.in(u.Elem(), path, true)
	case *types.Slice:
		return l.in(u.Elem(), path+"[]", true)
	case *types.Array:
		return l.in(u.Elem(), path+"[]", pointed)
	case *types.Map:
		if b, ok := u.Key().Underlying().(*types.Basic); (!ok || b.Info()&(types.IsString|types.IsInteger) == 0) && !encodes(u.Key()) {
			if _, param := types.Unalias(u.Key()).(*types.TypeParam); !param {
				return at("is a map whose keys are not strings")
			}
		}
		if isNamed(u.Key(), "time", "Time") {
			return at("is a map whose keys are times: one that is read back equals no other, as it has a location of its own; use its Unix, or its text")
		}
		return l.in(u.Elem(), path+"[]", false)
	case *types.Struct:
		return l.fields(t, u, path, pointed)
	}
	return ""
}

func (l *losses) fields(t types.Type, s *types.Struct, path string, pointed bool) string {
	n, named := t.(*types.Named)
	ours := !named || n.Obj().Pkg() == l.of
	exported := 0
	hidden := ""
	names := map[string]string{}
	whole := strings.TrimPrefix(path, ".")
	if whole == "" {
		whole = "it"
	}
	for i := range s.NumFields() {
		f := s.Field(i)
		tag := reflect.StructTag(s.Tag(i)).Get("json")
		if tag == "-" || f.Name() == "_" {
			exported++ // left out on purpose
			continue
		}
		if !f.Exported() && (!f.Embedded() || !isStruct(f.Type())) {
			if !idle(f.Type()) && hidden == "" {
				hidden = f.Name()
			}
			continue
		}
		exported++
		if _, pointer := f.Type().Underlying().(*types.Pointer); pointer && !f.Exported() && ours {
			return fmt.Sprintf("%s embeds a pointer to %s, which is not exported: JSON writes it and cannot read it back; embed the struct itself", whole, f.Name())
		}
		if key, _, _ := strings.Cut(tag, ","); key != "" {
			if other := names[key]; other != "" && ours {
				return fmt.Sprintf("%s has the name %q in JSON for both %s and %s: neither is recorded", whole, key, other, f.Name())
			}
			names[key] = f.Name()
		}
		name := path + "." + f.Name()
		if f.Embedded() {
			name = path
		}
		if what := l.in(f.Type(), name, pointed); what != "" {
			return what
		}
	}
	if hidden != "" && (ours || exported == 0) {
		return fmt.Sprintf("%s has the field %s, which is not exported, and so not recorded: it is a zero where the value is read; export it, or say `json:\"-\"`", whole, hidden)
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
	return path == "sync" || strings.HasPrefix(path, "google.golang.org/protobuf")
}

// isStruct reports whether a type is a struct, or a pointer to one: what encoding/json looks into where it is embedded.
func isStruct(t types.Type) bool {
	if p, ok := t.Underlying().(*types.Pointer); ok {
		t = p.Elem()
	}
	_, ok := t.Underlying().(*types.Struct)
	return ok
}

// Those are the methods by which a type says itself how it is written, or read. One that has both is taken at its word.
var (
	writing = []string{"MarshalJSON", "MarshalText", "MarshalJSONTo"}
	reading = []string{"UnmarshalJSON", "UnmarshalText", "UnmarshalJSONFrom"}
	coding  = slices.Concat(writing, reading, []string{"ProtoReflect"})
)

// encodes reports whether a type says itself how it is written or read.
func encodes(t types.Type) bool { return oneOf(methods(t), coding) != "" }

// oneOf is the first of some methods that a type has, or "".
func oneOf(set *types.MethodSet, names []string) string {
	for _, name := range names {
		if set.Lookup(nil, name) != nil {
			return name
		}
	}
	return ""
}

// half says what is lost of a type that says itself how it is written, or how it is read, and not the other; or "".
// What it may do about its fields by the one method that it has, it is believed to do.
func (l *losses) half(t types.Type, pointed bool) string {
	set := methods(t)
	if set.Lookup(nil, "ProtoReflect") != nil || types.IsInterface(t) {
		return ""
	}
	own := types.NewMethodSet(t)
	writes, reads := oneOf(own, writing), oneOf(set, reading)
	if pointed {
		writes = oneOf(set, writing)
	}
	s, isStruct := t.Underlying().(*types.Struct)
	hidden, exported := "", 0
	if isStruct {
		hidden, exported = hiddenIn(s)
	}
	b, _ := t.Underlying().(*types.Basic)
	text := b != nil && b.Info()&types.IsString != 0
	_, list := t.Underlying().(*types.Slice)
	switch byPointer := oneOf(set, writing); {
	case writes == "" && byPointer != "" && reads != "":
		return fmt.Sprintf("has %s for a pointer alone, and is recorded as a value, which is written without it: make it a method of the value, or record a pointer", byPointer)
	case writes != "" && reads == "" && hidden != "":
		return fmt.Sprintf("has %s, and nothing that reads it back: the field %s is a zero where the value is read; give it an Unmarshal%s", writes, hidden, strings.TrimPrefix(writes, "Marshal"))
	case writes == "MarshalText" && reads == "" && !text:
		return "has MarshalText, and nothing that reads the text back: give it an UnmarshalText"
	case writes == "" && strings.HasPrefix(reads, "UnmarshalJSON") && hidden != "" && exported == 0:
		return fmt.Sprintf("has %s, and nothing that writes it: the field %s, which is not exported, is not recorded; give it a MarshalJSON", reads, hidden)
	case writes == "" && reads == "UnmarshalText" && !text && !list:
		return "has UnmarshalText, and is not written as a text: give it a MarshalText"
	}
	return ""
}

// hiddenIn is the first field that JSON does not see, and how many it does.
func hiddenIn(s *types.Struct) (hidden string, exported int) {
	for i := range s.NumFields() {
		f := s.Field(i)
		switch {
		case f.Name() == "_" || reflect.StructTag(s.Tag(i)).Get("json") == "-":
		case f.Exported() || f.Embedded() && isStruct(f.Type()):
			exported++
		case !idle(f.Type()) && hidden == "":
			hidden = f.Name()
		}
	}
	return hidden, exported
}

func methods(t types.Type) *types.MethodSet {
	if _, ok := t.(*types.Pointer); !ok && !types.IsInterface(t) {
		t = types.NewPointer(t)
	}
	return types.NewMethodSet(t)
}

// speaker is the embedded field whose methods speak for a struct that has more than that, or "".
func (l *losses) speaker(t types.Type) string {
	s, ok := t.Underlying().(*types.Struct)
	if n, named := t.(*types.Named); !ok || named && n.Obj().Pkg() != l.of {
		return ""
	}
	set, from := methods(t), -1
	for _, name := range coding {
		sel := set.Lookup(nil, name)
		switch {
		case sel == nil:
		case len(sel.Index()) == 1:
			return ""
		case name != "ProtoReflect":
			from = sel.Index()[0]
		}
	}
	if from < 0 {
		return ""
	}
	for i := range s.NumFields() {
		if f := s.Field(i); i != from && f.Name() != "_" && !idle(f.Type()) && reflect.StructTag(s.Tag(i)).Get("json") != "-" {
			return s.Field(from).Name()
		}
	}
	return ""
}
