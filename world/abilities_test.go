package world_test

import (
	"go/parser"
	"go/token"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stepwell/stepwell/world"
)

// encrypting is a world around another.
type encrypting struct {
	world.World
	world.Decrypter
}

func (w encrypting) Stored() world.World { return w.World }

func (w encrypting) Abilities() world.Abilities { return world.Abilities{Decrypter: w} }

func TestStored(t *testing.T) {
	var below world.World = &world.Unimplemented{}
	for _, w := range []world.World{below, encrypting{World: below}, encrypting{World: encrypting{World: below}}} {
		if got := world.Stored(w); got != below {
			t.Errorf("Stored(%T) = %T, want the world below", w, got)
		}
	}
}

// TestAbilitiesAreDocumented: the package's documentation lists each ability, with what a world without it loses, and
// nothing else.
func TestAbilitiesAreDocumented(t *testing.T) {
	f, err := parser.ParseFile(token.NewFileSet(), "doc.go", nil, parser.ParseComments|parser.PackageClauseOnly)
	if err != nil {
		t.Fatal(err)
	}
	_, list, _ := strings.Cut(f.Doc.Text(), "# Abilities")
	list, _, ok := strings.Cut(list, "\n#")
	if !ok {
		t.Fatal("the documentation has no section about abilities")
	}
	var got, want []string
	for _, item := range strings.Split(list, "  - ")[1:] {
		item = strings.Join(strings.Fields(item), " ")
		m := regexp.MustCompile(`^\[(\w+)\] `).FindStringSubmatch(item)
		if m == nil || !strings.Contains(item, "Without it") {
			t.Errorf("want the name of an ability, what it does, and what is lost without it: %s", item)
			continue
		}
		got = append(got, m[1])
	}
	for _, field := range reflect.VisibleFields(reflect.TypeFor[world.Abilities]()) {
		want = append(want, field.Name)
		if field.Type.Name() != field.Name {
			t.Errorf("the field %s is a %s: want one name", field.Name, field.Type.Name())
		}
	}
	slices.Sort(got)
	slices.Sort(want)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("abilities in the documentation (-want +got):\n%s", diff)
	}
}
