package behaviour_test

// This file holds what lists show to who asks for the key of a run that failed and was retried.

import (
	"slices"
	"testing"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/world"
)

// TestAKeyFindsTheRunInItsPlace: a list by a key shows the newest run in the place of the one that has it, before that one, as far as the rest of the filter fits each.
func TestAKeyFindsTheRunInItsPlace(t *testing.T) {
	everyWay(t, func(r *rig) {
		d, mended := &diary{}, false
		defs := payer(d, &mended)
		wk := r.begin(defs...)
		run := start(r, wk, defs[0].(*stepwell.Workflow[tour, string]), tour{Got: "plain"}, stepwell.Key("order-7"))
		wantErr(r, run, world.Failed)
		again, err := wk.Retry(r.ctx, run.ID())
		if err != nil {
			r.Fatal(err)
		}
		if _, err := again.Result(r.ctx); err == nil {
			r.Fatal("the first retry completed, want it to fail again")
		}
		if got := listed(r, wk, stepwell.ListFilter{Key: "order-7"}); !slices.Equal(got, []string{again.ID(), run.ID()}) {
			r.Errorf("while the retry is failed the key shows %v, want %s and %s", got, again.ID(), run.ID())
		}
		mended = true
		last, err := wk.Retry(r.ctx, run.ID())
		if err != nil {
			r.Fatal(err)
		}
		if out, err := last.Result(r.ctx); err != nil {
			r.Fatalf("the second retry came to %s, %v", out, err)
		}
		for _, test := range []struct {
			name   string
			filter stepwell.ListFilter
			want   []string
		}{
			{"the key", stepwell.ListFilter{Key: "order-7"}, []string{last.ID(), run.ID()}},
			{"what is known", stepwell.ListFilter{Search: "order-7"}, []string{last.ID(), run.ID()}},
			{"the key of what completed", stepwell.ListFilter{Key: "order-7", Status: []world.Status{world.Completed}}, []string{last.ID()}},
			{"the key of what failed", stepwell.ListFilter{Key: "order-7", Status: []world.Status{world.Failed}}, []string{run.ID()}},
			{"the key, of another workflow", stepwell.ListFilter{Key: "order-7", Workflow: "other"}, nil},
			{"another key", stepwell.ListFilter{Key: "order-8"}, nil},
			{"the retry's own key", stepwell.ListFilter{Key: world.RetryKey(again.ID())}, []string{last.ID()}},
		} {
			if got := listed(r, wk, test.filter); !slices.Equal(got, test.want) {
				r.Errorf("%s shows %v, want %v", test.name, got, test.want)
			}
		}
		if page, err := wk.Page(r.ctx, stepwell.ListFilter{Key: "order-7"}, "", 1); err != nil || len(page.Runs) != 1 || page.Runs[0].ID != last.ID() {
			r.Errorf("a page of one run is %+v, %v, want %s", page.Runs, err, last.ID())
		}
	})
}

// listed are the IDs of the runs in a list.
func listed(r *rig, wk *worker, f stepwell.ListFilter) (ids []string) {
	for info, err := range wk.List(r.ctx, f) {
		if err != nil {
			r.Fatal(err)
		}
		ids = append(ids, info.ID)
	}
	return ids
}
