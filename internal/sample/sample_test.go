package sample

import "testing"

func init() { thin = func() int { return 1 } } // whatever these tests themselves are run with

func TestOf(t *testing.T) {
	seen := map[int]bool{}
	for s := range uint64(100) {
		*seed = s + 1
		first, step := Of(t, 4)
		again, _ := Of(t, 4)
		if first < 1 || first > 4 || step != 4 || first != again {
			t.Fatalf("seed %d: from %d, then from %d, by %d", s+1, first, again, step)
		}
		seen[first] = true
	}
	tried := 0
	for try, i := Share(t, 4), 1; i <= 100; i++ {
		if try(i) {
			tried++
		}
	}
	if tried != 25 {
		t.Errorf("%d of 100 cases are tried, want 25", tried)
	}
	if len(seen) != 4 {
		t.Errorf("only %v come first", seen)
	}
	*all = true
	defer func() { *all = false }()
	if first, step := Of(t, 4); first != 1 || step != 1 {
		t.Errorf("all: from %d by %d", first, step)
	}
}

func TestOne(t *testing.T) {
	seen := map[string]bool{}
	for s := range uint64(100) {
		*seed = s + 1
		got, again := One(t, "a", "b", "c"), OneKey(t, map[string]int{"a": 1, "c": 3, "b": 2})
		if len(got) != 1 || len(again) != 1 || got[0] != again[0] {
			t.Fatalf("seed %d: got %v, then %v", s+1, got, again)
		}
		seen[got[0]] = true
	}
	if len(seen) != 3 {
		t.Errorf("only %v are ever tried", seen)
	}
	*all = true
	defer func() { *all = false }()
	if got := One(t, "a", "b", "c"); len(got) != 3 {
		t.Errorf("all: %v", got)
	}
}
