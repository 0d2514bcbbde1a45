package rules_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/rules"
)

// TestPick holds the order in which what is due is taken.
func TestPick(t *testing.T) {
	now := time.UnixMicro(1e15)
	due := func(key int64, workflow string, priority int, ago time.Duration) rules.Candidate {
		return rules.Candidate{Key: key, Workflow: workflow, Priority: priority, Due: now.Add(-ago)}
	}
	for name, test := range map[string]struct {
		all    []rules.Candidate
		served []string // before
		n      int
		want   []int64
	}{
		"nothing":                         {n: 3},
		"no room":                         {all: []rules.Candidate{due(1, "a", 0, 0)}},
		"what is not due is left":         {all: []rules.Candidate{due(1, "a", 3, -1), due(2, "a", 0, 0)}, n: 3, want: []int64{2}},
		"the limit":                       {all: []rules.Candidate{due(1, "a", 0, 0), due(2, "a", 0, 0)}, n: 1, want: []int64{1}},
		"higher priority first":           {all: []rules.Candidate{due(1, "a", 0, 5), due(2, "a", 3, 0), due(3, "a", 1, 0)}, n: 3, want: []int64{2, 3, 1}},
		"a minute counts one":             {all: []rules.Candidate{due(1, "a", 2, 0), due(2, "a", 1, time.Minute), due(3, "a", 0, 3*time.Minute)}, n: 3, want: []int64{3, 2, 1}},
		"less than a minute counts none":  {all: []rules.Candidate{due(1, "a", 0, time.Minute-1), due(2, "a", 1, 0)}, n: 2, want: []int64{2, 1}},
		"longest due first":               {all: []rules.Candidate{due(1, "a", 0, 1), due(2, "a", 0, 2)}, n: 2, want: []int64{2, 1}},
		"created first first":             {all: []rules.Candidate{due(9, "a", 0, 1), due(8, "a", 0, 1)}, n: 2, want: []int64{8, 9}},
		"fair across workflows":           {all: []rules.Candidate{due(1, "a", 0, 9), due(2, "a", 0, 8), due(3, "b", 0, 1), due(4, "b", 0, 0)}, n: 4, want: []int64{1, 3, 2, 4}},
		"who had a turn is behind":        {all: []rules.Candidate{due(1, "a", 0, 9), due(2, "b", 0, 1)}, served: []string{"a"}, n: 2, want: []int64{2, 1}},
		"a turn longer ago is first":      {all: []rules.Candidate{due(1, "a", 0, 9), due(2, "b", 0, 1)}, served: []string{"b", "a"}, n: 1, want: []int64{2}},
		"priority goes before fairness":   {all: []rules.Candidate{due(1, "a", 1, 0), due(2, "a", 1, 0), due(3, "b", 0, 0)}, n: 3, want: []int64{1, 2, 3}},
		"due and to be cancelled is once": {all: []rules.Candidate{due(1, "a", 0, 2), due(2, "a", 0, 1), due(1, "a", 0, 3)}, n: 3, want: []int64{1, 2}},
	} {
		t.Run(name, func(t *testing.T) {
			var turns rules.Fairness
			for _, w := range test.served {
				turns.Serve(w)
			}
			var got []int64
			for _, i := range turns.Pick(test.all, now, test.n) {
				got = append(got, test.all[i].Key)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestPickOneByOne: what is picked together is what would be picked one by one, from the heads of partitions.
func TestPickOneByOne(t *testing.T) {
	now := time.UnixMicro(1e15)
	var all []rules.Candidate
	for i := range 60 {
		all = append(all, rules.Candidate{Key: int64(i), Workflow: fmt.Sprint(i % 3), Priority: i % 4, Due: now.Add(-time.Duration(i*i%240) * time.Second)})
	}
	var together, apart rules.Fairness
	picked := together.Pick(all, now, len(all))
	left := make([]int, 0, len(all))
	for i := range all {
		left = append(left, i)
	}
	for k, want := range picked {
		best := slices.MinFunc(left, func(a, b int) int {
			if apart.Before(&all[a], &all[b], now) {
				return -1
			}
			return 1
		})
		if best != want {
			t.Fatalf("pick %d: got %d together, %d apart", k, want, best)
		}
		apart.Serve(all[best].Workflow)
		left = slices.DeleteFunc(left, func(i int) bool { return i == best })
	}
	if len(picked) != len(all) {
		t.Errorf("got %d, want all %d", len(picked), len(all))
	}
}

func TestListReady(t *testing.T) {
	now := time.UnixMicro(1e15)
	item := func(run string, priority int, ago time.Duration) world.ReadyItem {
		return world.ReadyItem{Run: run, Priority: priority, Due: now.Add(-ago)}
	}
	list := world.Ready{Now: now}
	rules.ListReady(&list, []world.ReadyItem{item("d", 0, 2), item("a", 0, 2), item("b", 1, 0), item("a", 0, 1), item("c", 0, time.Minute), item("e", 0, 0)}, 4)
	if diff := cmp.Diff([]world.ReadyItem{item("c", 0, time.Minute), item("b", 1, 0), item("a", 0, 2), item("d", 0, 2)}, list.Items); diff != "" || !list.More {
		t.Errorf("more: %t\n%s", list.More, diff)
	}
}
