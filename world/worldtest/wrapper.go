// Wrappers: what a world around another one gives on.

package worldtest

import (
	"reflect"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stepwell/stepwell/world"
)

// RunWrapper tests that a wrapper passes on each ability of the wrapped store, and none that the
// store lacks. Abilities of the wrapper's own are always present. hides are the fields of
// [world.Abilities] that it cannot pass on.
func RunWrapper(t *testing.T, wrap func(world.World) world.World, hides ...string) {
	own := names(world.AbilitiesOf(wrap(&only{})))
	for i, field := range reflect.VisibleFields(reflect.TypeFor[world.Abilities]()) {
		t.Run(field.Name, func(t *testing.T) {
			below := &only{}
			reflect.ValueOf(&below.able).Elem().Field(i).Set(reflect.ValueOf(anything{}))
			want := slices.Clone(own)
			if !slices.Contains(hides, field.Name) && !slices.Contains(own, field.Name) {
				want = append(want, field.Name)
			}
			slices.Sort(want)
			if diff := cmp.Diff(want, names(world.AbilitiesOf(wrap(below)))); diff != "" {
				t.Errorf("around a %s (-want +got):\n%s", field.Name, diff)
			}
		})
	}
}

// names lists the abilities that are there.
func names(a world.Abilities) (list []string) {
	v := reflect.ValueOf(a)
	for i := range v.NumField() {
		if !v.Field(i).IsNil() {
			list = append(list, v.Type().Field(i).Name)
		}
	}
	slices.Sort(list)
	return list
}

// only is a world with some abilities, none of which is called.
type only struct {
	world.World
	able world.Abilities
}

// Abilities are those.
func (w *only) Abilities() world.Abilities { return w.able }

// anything is of the type of each ability.
type anything struct {
	world.Notifier
	world.Poller
	world.Timekeeper
	world.Transactor
	world.Reporter
	world.TaskReader
	world.ReadyReader
	world.Holder
	world.Doctor
	world.Mender
	world.KeyBook
	world.Definer
	world.MetricsKeeper
	world.MessageKeeper
	world.TopicKeeper
	world.ScheduleKeeper
	world.StartKeeper
	world.LimitKeeper
	world.Decrypter
	world.ApartKeeper
}
