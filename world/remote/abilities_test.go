package remote

import (
	"reflect"
	"testing"

	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/remote/wire"
)

// TestAbilities: a world has each ability that it has the methods of, but that a server may keep no values apart.
func TestAbilities(t *testing.T) {
	w := &World{}
	w.hello.Apart = true
	has := reflect.ValueOf(world.AbilitiesOf(w))
	for i := range has.NumField() {
		at := has.Type().Field(i)
		if can := reflect.TypeOf(w).Implements(at.Type); can == has.Field(i).IsNil() {
			t.Errorf("%s: it has the methods: %v, and is said to have none: %v", at.Name, can, has.Field(i).IsNil())
		}
	}
	w.hello = wire.HelloOut{}
	if world.AbilitiesOf(w).ApartKeeper != nil {
		t.Error("a server that keeps no values apart is said to")
	}
}
