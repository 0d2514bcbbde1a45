// Package sample says how much of a long test is to be tried: `make test` tries a share of its cases, by a seed that it prints, and `make soak` tries all.
package sample

import (
	"flag"
	"math/rand/v2"
	"testing"
)

var (
	all  = flag.Bool("sample.all", false, "try all cases of the tests that usually try a share of them")
	seed = flag.Uint64("sample.seed", 0, "which share; 0: another each time")
)

// All reports whether tests are to try all of their cases.
func All() bool { return *all }

// Of tells which of the cases that are numbered from 1 a test is to try, where one of n is enough: first, and then each step-th.
func Of(t testing.TB, n int) (first, step int) {
	t.Helper()
	if *all || n <= 1 {
		return 1, 1
	}
	s := *seed
	if s == 0 {
		s = rand.Uint64()
	}
	t.Logf("one case in %d: -sample.seed=%d for the same ones, -sample.all for all", n, s)
	return 1 + rand.New(rand.NewPCG(s, 0)).IntN(n), n
}

// Share is [Of] as a function that tells of each case, by its number from 1, whether it is to be tried.
func Share(t testing.TB, n int) func(i int) bool {
	t.Helper()
	first, step := Of(t, n)
	return func(i int) bool { return i >= first && (i-first)%step == 0 }
}
