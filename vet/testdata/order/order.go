// Package order has the order of maps.
package order

import (
	"context"
	"maps"
	"slices"
	"sort"
	"strings"
	"sync"

	"github.com/stepwell/stepwell"
)

func charge(ctx context.Context, id string, n int) error { return nil }

func one(ctx stepwell.Context, id string, n int) error {
	return stepwell.Do(ctx, "total", func(ctx context.Context) error { return charge(ctx, id, n) })
}

func quiet(ctx stepwell.Context, id string) { ctx.Logger().Info(id) }

func keys(m map[string]int) (all []string) {
	for k := range m {
		all = append(all, k)
	}
	return all
}

func sorted(m map[string]int) (all []string) {
	for k := range m {
		all = append(all, k)
	}
	slices.Sort(all)
	return all
}

func wrong(ctx stepwell.Context, cents map[string]int) (string, error) {
	for id, n := range cents { // want `order.one in a range over a map|one in a range over a map, whose order is another each time`
		if err := one(ctx, id, n); err != nil {
			return "", err
		}
	}
	for id := range maps.Keys(cents) { // want `stepwell.Do in a range over maps.Keys`
		if err := stepwell.Do(ctx, "x", func(ctx context.Context) error { return charge(ctx, id, 1) }); err != nil {
			return "", err
		}
	}
	reserve := func(id string) error { return one(ctx, id, 1) }
	for id := range cents { // want `reserve in a range over a map`
		if err := reserve(id); err != nil {
			return "", err
		}
	}
	ids := map[string]string{}
	for id := range cents { // want `Context.NewID in a range over a map`
		ids[id] = ctx.NewID()
	}
	var list []string
	for id := range cents { // want `stepwell.Map gets list, which is built in the order of a map`
		list = append(list, id)
	}
	_, err := stepwell.Map(ctx, list, 1, func(ctx stepwell.Context, id string) (int, error) { return 0, one(ctx, id, 1) })
	if err != nil {
		return "", err
	}
	unsorted := keys(cents) // want `order.one gets unsorted|one gets unsorted in the order of order.keys`
	for _, id := range unsorted {
		if err := one(ctx, id, 1); err != nil {
			return "", err
		}
	}
	_, err = stepwell.Map(ctx, slices.Collect(maps.Keys(cents)), 1, func(ctx stepwell.Context, id string) (int, error) { return 0, nil }) // want `stepwell.Map gets the order of slices.Collect of maps.Keys`
	var shared sync.Map
	shared.Range(func(id, _ any) bool { // want `one in Map.Range, whose order is another each time`
		return one(ctx, id.(string), 1) == nil
	})
	text := ""
	for id := range cents { // want `stepwell.Step gets text, which is built in the order of a map`
		text += id
	}
	text, err = stepwell.Step(ctx, "text", func(ctx context.Context) (string, error) { return text, nil })
	return text, err
}

func right(ctx stepwell.Context, cents map[string]int) (int, error) {
	for _, id := range slices.Sorted(maps.Keys(cents)) {
		if err := one(ctx, id, cents[id]); err != nil {
			return 0, err
		}
	}
	sum := 0
	for id, n := range cents { // it only sums up // near: maporder
		sum += n
		quiet(ctx, id)
	}
	var list []string
	for id := range cents {
		list = append(list, id)
	}
	sort.Strings(list)
	for _, id := range append(list, sorted(cents)...) {
		if err := one(ctx, id, 1); err != nil {
			return 0, err
		}
	}
	var shared sync.Map
	shared.Range(func(_, n any) bool {
		sum += n.(int)
		return true
	})
	upper := map[string]int{}
	for id, n := range cents {
		upper[strings.ToUpper(id)] = n
	}
	all := keys(cents)
	slices.Sort(all)
	if len(list) > 3 {
		return sum, one(ctx, all[0], 1)
	}
	return sum, stepwell.Do(ctx, "all", func(ctx context.Context) error {
		for id, n := range cents { // a body runs once
			if err := charge(ctx, id, n); err != nil {
				return err
			}
		}
		return nil
	})
}

func given(ctx stepwell.Context, cents map[string]int, ask func(stepwell.Context, string) error, look func(string) bool) error {
	for id := range cents { // want `ask in a range over a map`
		if err := ask(ctx, id); err != nil {
			return err
		}
	}
	for id := range cents {
		if look(id) {
			return nil
		}
	}
	return nil
}
