// Metrics: what processes have counted.

package worldtest

import (
	"encoding/json"
	"time"

	"github.com/stepwell/stepwell/world"
)

// counted is what a process gives.
func counted(process string, revision int64, says string, absorbs ...world.MetricsRef) *world.ProcessMetrics {
	return &world.ProcessMetrics{MetricsRef: world.MetricsRef{Process: process, Revision: revision}, Says: json.RawMessage(says), Absorbs: absorbs}
}

var metrics = []check{
	{"what processes have counted is kept", "what a process gives stands in the place of what it gave before; what is given twice is kept once", func(r *rig) {
		k := r.w
		keep := func(m *world.ProcessMetrics) {
			r.Helper()
			r.must(k.KeepMetrics(r.ctx, m), "keep metrics of "+m.Process)
		}
		is := func(what string, want ...string) {
			r.Helper()
			all, err := k.Metrics(r.ctx)
			r.must(err, "metrics")
			var got []string
			for _, m := range all {
				if got = append(got, m.Process+string(m.Says)); m.Age < 0 || m.Age > patience || m.Absorbs != nil {
					r.Errorf("%s: %+v", what, m)
				}
			}
			r.same(got, want, what)
		}
		is("at first")
		keep(counted("b", 1, "[1]"))
		keep(counted("a", 1, "[2]"))
		is("of two", "a[2]", "b[1]")
		<-time.After(5 * time.Millisecond)
		all, err := k.Metrics(r.ctx)
		r.must(err, "metrics")
		for _, m := range all {
			if m.Age < time.Millisecond {
				r.Errorf("what process %s gave 5 ms ago has an age of %s", m.Process, m.Age)
			}
		}
		keep(counted("b", 2, "[3]"))
		keep(counted("b", 2, "[4]"))
		keep(counted("b", 1, "[5]"))
		is("of one that gave more, and what it gave once more", "a[2]", "b[3]")
		r.refused(k.KeepMetrics(r.ctx, counted("c", 2, "[6]")), world.ErrConflict, "one whose counts were absorbed")
	}},
	{"what processes have counted is absorbed", "counts are neither lost nor doubled when a process adds those of others to its own", func(r *rig) {
		k := r.w
		names := func() (got []string) {
			r.Helper()
			all, err := k.Metrics(r.ctx)
			r.must(err, "metrics")
			for _, m := range all {
				got = append(got, m.Process+string(m.Says))
			}
			return got
		}
		for _, p := range []string{"a", "b", "c"} {
			r.must(k.KeepMetrics(r.ctx, counted(p, 1, "[1]")), "keep")
		}
		r.must(k.KeepMetrics(r.ctx, counted("b", 2, "[2]")), "keep")
		a1, b1, b2, c1 := world.MetricsRef{Process: "a", Revision: 1}, world.MetricsRef{Process: "b", Revision: 1}, world.MetricsRef{Process: "b", Revision: 2},
			world.MetricsRef{Process: "c", Revision: 1}
		r.refused(k.KeepMetrics(r.ctx, counted("c", 2, "[9]", a1, b1)), world.ErrConflict, "one that has given more since")
		r.same(names(), []string{"a[1]", "b[2]", "c[1]"}, "what is kept when nothing was absorbed")
		r.must(k.KeepMetrics(r.ctx, counted("c", 2, "[4]", a1, b2)), "absorb two")
		r.must(k.KeepMetrics(r.ctx, counted("c", 2, "[4]", a1, b2)), "absorb them as before")
		r.same(names(), []string{"c[4]"}, "what is kept then")
		r.must(k.KeepMetrics(r.ctx, counted("b", 2, "[2]")), "what one that is absorbed gave last, once more")
		r.refused(k.KeepMetrics(r.ctx, counted("b", 3, "[3]")), world.ErrConflict, "of one that is absorbed")
		r.refused(k.KeepMetrics(r.ctx, counted("d", 1, "[3]", b2)), world.ErrConflict, "that absorbs one that is absorbed")
		r.refused(k.KeepMetrics(r.ctx, counted("d", 1, "[3]", c1)), world.ErrConflict, "that absorbs what stands no longer")
		r.same(names(), []string{"c[4]"}, "what is kept at last")
	}},
	{"metrics that make no sense are refused", "bad input is refused before anything is written", func(r *rig) {
		k := r.w
		for what, m := range map[string]*world.ProcessMetrics{
			"without a process": counted("", 1, "[]"), "without a revision": counted("a", 0, "[]"), "that are no JSON": counted("a", 1, "["), "without counts": counted("a", 1, ""),
			"that are too long": counted("a", 1, `"`+string(make([]byte, world.MaxMetrics))+`"`), "that absorb themselves": counted("a", 2, "[]", world.MetricsRef{Process: "a", Revision: 1}),
			"that absorb nobody":   counted("a", 1, "[]", world.MetricsRef{Revision: 1}),
			"that absorb too many": counted("a", 1, "[]", make([]world.MetricsRef, 1001)...),
		} {
			r.refused(k.KeepMetrics(r.ctx, m), world.ErrInvalid, "metrics "+what)
		}
		all, err := k.Metrics(r.ctx)
		r.must(err, "metrics")
		r.same(len(all), 0, "processes that are kept")
	}},
}
