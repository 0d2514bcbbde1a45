// Package far calls what another package has.
package far

import (
	"context"

	"example.com/vet/far/stamp"
	"github.com/stepwell/stepwell"
)

func wrong(ctx stepwell.Context, s stamp.Stamper, m map[string]int) (string, error) {
	_ = stamp.Stamp()         // want `stamp.Stamp comes to time.Now \(stamp/stamp.go:\d+\), in workflow code`
	_ = stamp.First([]int{1}) // want `stamp.First comes to time.Sleep`
	_ = s.Stamp()             // want `Stamper.Stamp comes to time.Now`
	stamp.Parallel()          // want `stamp.Parallel comes to a go statement` `stamp.Parallel comes to a receive from a channel`
	if stamp.Limit > 3 {      // want `workflow code reads Limit, which is changed elsewhere`
		return "", nil
	}
	keys := stamp.Keys(m) // want `stepwell.Map gets keys in the order of stamp.Keys`
	_, err := stepwell.Map(ctx, keys, 1, func(ctx stepwell.Context, k string) (int, error) { return 0, nil })
	return "", err
}

func right(ctx stepwell.Context) (string, error) {
	return stepwell.Step(ctx, "stamp", func(ctx context.Context) (string, error) { return stamp.Stamp() + stamp.Pure(1) + stamp.Name, nil })
}

func pure(ctx stepwell.Context) string { return stamp.Pure(1) + stamp.Name }
