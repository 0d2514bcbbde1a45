package engine

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stepwell/stepwell/internal/replay"
)

// A machine that is larger than the whole cache, as that of a run with tens of thousands of coroutines, takes no other's place.
func TestAMachineThatDoesNotFitDropsNoOther(t *testing.T) {
	var dropped []string
	machine := func() *replay.Machine { return replay.New(replay.Config{}, nil) }
	small := (&cached{m: machine()}).estimate()
	c := newCache(10, 3*small, func(v *cached) { dropped = append(dropped, v.run) })
	for i := range 3 {
		c.put(&cached{run: fmt.Sprint(i), m: machine()})
	}
	large := &cached{run: "large"}
	for range 4 {
		large.witnesses = append(large.witnesses, &witness{m: machine()})
	}
	c.put(large)
	if want := []string{"large"}; !slices.Equal(dropped, want) {
		t.Errorf("dropped: %v, want %v", dropped, want)
	}
	c.put(&cached{run: "3", m: machine()})
	if want := []string{"large", "0"}; !slices.Equal(dropped, want) {
		t.Errorf("dropped: %v, want %v: the least recently used", dropped, want)
	}
	for _, run := range []string{"1", "2", "3"} {
		if c.pop(run) == nil {
			t.Errorf("run %s is not in the cache", run)
		}
	}
}
