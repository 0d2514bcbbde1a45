// Package sample says how much of a long test is to be tried: `make test` tries a share of its cases, by a seed that it prints, and `make soak` tries all.
package sample

import (
	"flag"
	"hash/fnv"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"sync"
	"testing"
)

var (
	all  = flag.Bool("sample.all", false, "try all cases of the tests that usually try a share of them")
	seed = flag.Uint64("sample.seed", 0, "which share; 0: what STEPWELL_TEST_SEED says, or another each time")
)

// All reports whether tests are to try all of their cases.
func All() bool { return *all }

// drawn is the seed of this process, where none was given.
var drawn = sync.OnceValue(func() uint64 {
	if s, err := strconv.ParseUint(os.Getenv("STEPWELL_TEST_SEED"), 10, 64); err == nil {
		return s
	}
	return 1 + rand.Uint64()>>33
})

// thin is how many times fewer cases are tried than a test says, by STEPWELL_TEST_THIN: `make test` is for those who
// wait for it. Each day tries others.
var thin = sync.OnceValue(func() int {
	n, _ := strconv.Atoi(os.Getenv("STEPWELL_TEST_THIN"))
	return max(n, 1)
})

// source is where the draws of a test come from: others than those of other tests, and the same ones each time for a seed. It says what the seed is.
func source(t testing.TB, of int, purpose string) *rand.Rand {
	t.Helper()
	s := *seed
	if s == 0 {
		s = drawn()
	}
	t.Logf("one case in %d: -sample.seed=%d for the same ones, -sample.all for all", of, s)
	name := fnv.New64a()
	_, _ = name.Write([]byte(t.Name() + purpose))
	return rand.New(rand.NewPCG(s, name.Sum64()))
}

// Of tells which of the cases that are numbered from 1 a test is to try, where one of n is enough, or one of thin
// times as many: first, and then each step-th.
func Of(t testing.TB, n int) (first, step int) {
	t.Helper()
	if *all || n <= 1 {
		return 1, 1
	}
	n *= thin()
	return 1 + source(t, n, "").IntN(n), n
}

// Share is [Of] as a function that tells of each case, by its number from 1, whether it is to be tried.
func Share(t testing.TB, n int) func(i int) bool {
	t.Helper()
	first, step := Of(t, n)
	return func(i int) bool { return i >= first && (i-first)%step == 0 }
}

// One is one of some cases that are all alike to a test, like the worlds that it runs on; or all of them, where all are to be tried.
func One[T any](t testing.TB, cases ...T) []T {
	t.Helper()
	return OneFor(t, "", cases...)
}

// OneFor is [One] where a test draws several times: for each purpose something else.
func OneFor[T any](t testing.TB, purpose string, cases ...T) []T {
	t.Helper()
	if *all || len(cases) <= 1 {
		return cases
	}
	i := source(t, len(cases), purpose).IntN(len(cases))
	return cases[i : i+1]
}

// OneKey is [One] of the keys of a map.
func OneKey[V any](t testing.TB, cases map[string]V) []string {
	t.Helper()
	names := make([]string, 0, len(cases))
	for name := range cases {
		names = append(names, name)
	}
	slices.Sort(names)
	return One(t, names...)
}
