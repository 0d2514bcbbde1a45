// Package unfixed has what is found, and is not repaired, as a repair would do something else, or is no code.
package unfixed

import (
	"context"
	"time"

	"github.com/stepwell/stepwell"
)

type box struct {
	M, N map[string]int
	Name string
}

func (b *box) drop(id string) { delete(b.M, id) }

var shared = map[string]int{}

func work(ctx context.Context) error { return nil }

func drop(m map[string]int) { clear(m) }

func empty(m *map[string]int) { *m = nil }

func changed(ctx stepwell.Context, m, next map[string]int, o *box) {
	for id := range m { // want `stepwell.Do in a range over a map`
		_ = stepwell.Do(ctx, id, work)
		clear(m)
	}
	for id := range m { // want `stepwell.Do in a range over a map`
		_ = stepwell.Do(ctx, id, work)
		delete(m, id)
	}
	for id := range m { // want `stepwell.Do in a range over a map`
		_ = stepwell.Do(ctx, id, work)
		m[id+"x"] = 1
	}
	for id := range m { // want `stepwell.Do in a range over a map`
		_ = stepwell.Do(ctx, id, work)
		(m)[id+"x"]++
	}
	for id := range m { // want `stepwell.Do in a range over a map`
		_ = stepwell.Do(ctx, id, work)
		m = next
	}
	for id := range m { // want `stepwell.Do in a range over a map`
		_ = stepwell.Do(ctx, id, work)
		drop(m)
	}
	for id := range m { // want `stepwell.Do in a range over a map`
		_ = stepwell.Do(ctx, id, work)
		empty(&m)
	}
	for id := range m { // want `stepwell.Do in a range over a map`
		_ = stepwell.Do(ctx, id, work)
		same := m
		delete(same, id)
	}
	for id := range o.M { // want `stepwell.Do in a range over a map`
		_ = stepwell.Do(ctx, id, work)
		o.M = o.N
	}
	for id := range o.M { // want `stepwell.Do in a range over a map`
		_ = stepwell.Do(ctx, id, work)
		o = &box{}
	}
	for id := range o.M { // want `stepwell.Do in a range over a map`
		_ = stepwell.Do(ctx, id, work)
		o.drop(id)
	}
	for id := range shared { // want `stepwell.Do in a range over a map` `workflow code reads shared`
		_ = stepwell.Do(ctx, id, work)
		another()
	}
}

func another() { shared["x"] = 1 }

func closed(ctx stepwell.Context, m map[string]int) {
	forget := func() { clear(m) }
	for id := range m { // want `stepwell.Do in a range over a map`
		_ = stepwell.Do(ctx, id, work)
		forget()
	}
}

func again(ctx stepwell.Context, m, maps map[string]int) {
	for id, n := range m { // want `stepwell.Sleep in a range over a map`
		n := n
		_ = stepwell.Sleep(ctx, id, time.Duration(n))
	}
	for id := range maps { // want `stepwell.Sleep in a range over a map`
		_ = stepwell.Sleep(ctx, id, 1)
	}
}

func head(ctx stepwell.Context, s string) error {
	if time.Sleep(3); s == "" { // want `time.Sleep in workflow code`
		return nil
	}
	switch time.Sleep(3); s { // want `time.Sleep in workflow code`
	case "a":
		return nil
	}
	for i := 0; i < 3; time.Sleep(3) { // want `time.Sleep in workflow code`
		i++
	}
	return nil
}
