package through

import (
	"context"
	"slices"
	"strings"

	"example.com/vet/through/desk"
	"github.com/stepwell/stepwell"
)

type set struct{ of map[string]int }

func (s *set) each(fn func(string)) {
	for k := range s.of {
		fn(k)
	}
}

func (s *set) sorted() []string {
	all := desk.Keys(s.of)
	slices.SortFunc(all, strings.Compare)
	return all
}

func (s *set) unsorted() ([]string, int) {
	all := desk.Keys(s.of)
	return all, len(all)
}

func keysOf(m map[string]int) (all []string) {
	for k := range m {
		all = append(all, k)
	}
	return all
}

func sortedOf(m map[string]int) []string {
	all := keysOf(m)
	slices.Sort(all)
	return all
}

func passedOn(m map[string]int) []string { return keysOf(m) }

type visitor struct {
	visit func(stepwell.Context, string) error
	list  []string
}

func newVisitor() *visitor {
	return &visitor{visit: func(ctx stepwell.Context, id string) error { return ship(ctx, id) }}
}

func orderThrough(ctx stepwell.Context, m map[string]int, v *visitor, s *set, names desk.Set) error {
	shipIt, bag := func(id string) error { return ship(ctx, id) }, desk.NewBag(ctx)
	method := bag.Ship
	for id := range m { // want `method in a range over a map`
		_ = method(id)
	}
	for id := range m { // want `Bag.Ship in a range over a map`
		_ = bag.Ship(id)
	}
	for id := range m { // want `desk.Ship in a range over a map`
		_ = desk.Ship(ctx, id)
	}
	for id := range m { // want `visit in a range over a map`
		_ = v.visit(ctx, id)
	}
	for id := range m { // want `generic in a range over a map`
		_, _ = generic(ctx, id)
	}
	for id := range names.All() { // want `ship in a range over Set.All \(desk/desk.go:\d+\)`
		_ = ship(ctx, id)
	}
	_ = desk.Each(m, func(id string, _ int) error { return shipIt(id) }) // want `shipIt in desk.Each, which goes through a map: its order is another each time`
	s.each(func(id string) { _ = ship(ctx, id) })                        // want `ship in set.each, which goes through a map`
	for _, id := range passedOn(m) {                                     // want `ship in a range over through.passedOn`
		_ = ship(ctx, id)
	}
	all, _ := s.unsorted() // want `ship gets all in the order of set.unsorted`
	for _, id := range all {
		_ = ship(ctx, id)
	}
	v.list = nil
	for id := range m { // want `stepwell.Map gets list, which is built in the order of a map`
		v.list = append(v.list, id)
	}
	if _, err := stepwell.Map(ctx, v.list, 1, func(ctx stepwell.Context, id string) (int, error) { return 0, nil }); err != nil {
		return err
	}
	var b strings.Builder
	for id := range m { // want `ship gets b, which is built in the order of a map`
		b.WriteString(id)
	}
	if err := ship(ctx, b.String()); err != nil {
		return err
	}
	return ship(ctx, desk.Any(m)) // want `ship gets the order of desk.Any`
}

func nearOrder(ctx stepwell.Context, m map[string]int, s *set, names desk.Set) error {
	for _, id := range sortedOf(m) {
		_ = ship(ctx, id)
	}
	for _, id := range desk.SortedKeys(m) {
		_ = ship(ctx, id)
	}
	for _, id := range s.sorted() {
		_ = ship(ctx, id)
	}
	for _, id := range slices.Sorted(names.All()) {
		_ = ship(ctx, id)
	}
	list := names.List()
	slices.Sort(list)
	for _, id := range list {
		_ = ship(ctx, id)
	}
	n := 0
	_ = desk.Each(m, func(_ string, v int) error { n += v; return nil })
	s.each(func(string) { n++ })
	for range m {
		n += len(desk.Quiet(ctx))
	}
	return stepwell.Do(ctx, "all", func(c context.Context) error {
		_ = n + names.Count()
		return desk.Each(m, func(string, int) error { return work(c) })
	})
}
