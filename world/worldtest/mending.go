// Mending: what was lost or changed beside the logs is named by the doctor, and what can be made right is.

package worldtest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stepwell/stepwell/world"
)

// RunMending tests what a store's doctor reports, and what it repairs by itself or by
// [world.Mender].
func RunMending(t *testing.T, s DamageStore) {
	ids := damageScene(t, s.Open(t))
	s.Keep(t)
	victim := "(SELECT key FROM runs WHERE id = '" + ids.victim + "')"
	over := "(SELECT key FROM runs WHERE id = '" + ids.over + "')"
	for _, test := range []struct {
		name, change string
		check        string // of the doctor, that is bad; "": world.Verify names run
		run, says    string
		heals        bool
	}{
		{"the last row of a log", "DELETE FROM log WHERE run = %[1]s AND seq = (SELECT max(seq) FROM log WHERE run = %[1]s)", "logs", ids.victim, ids.victim, false},
		{"the row of a hook", "DELETE FROM hooks WHERE run = %[1]s", "", ids.victim, "hook_1", false},
		{"the row of a task", "DELETE FROM inbox WHERE run = %[1]s; DELETE FROM tasks WHERE run = %[1]s", "", ids.victim, "step_1", false},
		{"the end of a log", "DELETE FROM log WHERE run = %[2]s AND seq = (SELECT max(seq) FROM log WHERE run = %[2]s)", "", ids.over, "no end", false},
		{"an owner that is not there", "UPDATE queue SET owner = 4711 WHERE run = %[1]s", "runs without a worker", ids.victim, ids.victim, true},
		{"a holder of a task that is not there", "UPDATE tasks SET worker = 4711 WHERE run = %[1]s", "runs without a worker", ids.victim, ids.victim, true},
		{"counts that are too high", "UPDATE totals SET n = 4611686018427387904", "counts", "", "workflow good", true},
		{"a count below none", "UPDATE totals SET n = -7 WHERE workflow = 'good'", "counts", "", "workflow good", true},
		{"a count of no status", "UPDATE totals SET status = 'gone' WHERE workflow = 'over' AND status = 'completed'", "counts", "", "are gone", true},
	} {
		t.Run(test.name, func(t *testing.T) {
			s.Restore(t)
			r := newRig(t, s.Open(t))
			if n := s.Exec(t, fmt.Sprintf(test.change+"%.0[1]s%.0[2]s", victim, over)); n == 0 {
				t.Fatal("nothing was changed")
			}
			r.named(test.check, test.run, test.says)
			k := r.worker("victim", "over", "good")
			claimed := map[string]string{}
			if test.heals {
				r.sweep(100)
				r.well(test.check)
				r.same(r.counts("good").Pending, 1, "runs that are counted")
			}
			for _, t := range k.claim(10, 10).Runs {
				claimed[t.Run] = t.Damage
			}
			for _, run := range []string{ids.victim, ids.good} {
				if _, ok := claimed[run]; !ok {
					t.Errorf("run %s was not given", run)
				}
			}
			if damage := claimed[ids.victim]; (damage != "") != (test.check == "logs") {
				t.Errorf("the run was given with the damage %q", damage)
			}
		})
	}
	t.Run("counts that could be right", func(t *testing.T) {
		s.Restore(t)
		r := newRig(t, s.Open(t))
		if n := s.Exec(t, "UPDATE totals SET n = 2 WHERE workflow = 'good'"); n == 0 {
			t.Fatal("nothing was changed")
		}
		r.named("counts", "", "1 of workflow good are pending, counted as 2")
		if r.able.Mender == nil {
			t.Fatal("this world does not mend")
		}
		for i, want := range []string{"counts corrected: 1", "counts corrected: 0"} {
			found, err := r.able.Mender.Mend(r.ctx)
			r.must(err, "mend")
			if !slices.ContainsFunc(found, func(f world.Finding) bool { return strings.Contains(f.Found, want) }) {
				t.Errorf("mending it %d times: %+v, want %s", i+1, found, want)
			}
		}
		r.well("counts")
		r.same(r.counts("good").Pending, 1, "runs that are counted")
		k := r.worker("victim", "over", "good")
		s1, _ := k.getOf(ids.good)
		s1.append(world.Event{Type: world.RunStarted})
		s1.end()
		r.same(r.counts("good").Completed, 1, "runs that are counted")
		r.well("counts")
	})
	t.Run("a paused run whose resumption waits is counted right", func(t *testing.T) {
		s.Restore(t)
		r := newRig(t, s.Open(t))
		paused := r.worker("good").create("good")
		r.act(paused.run, pause, resume)
		paused.claimMail(1, &world.Release{})
		r.same(r.counts("good").Paused, 1, "runs that are counted")
		r.well("counts")
		_, err := r.able.Mender.Mend(r.ctx)
		r.must(err, "mend")
		r.same(r.counts("good").Paused, 1, "runs that are counted after a recount")
	})
	t.Run("a number of an event that cannot be", func(t *testing.T) {
		s.Restore(t)
		r := newRig(t, s.Open(t))
		if n := s.Exec(t, fmt.Sprintf("UPDATE log SET seq = 9223372036854775807 WHERE run = %[1]s AND seq = (SELECT max(seq) FROM log WHERE run = %[1]s)", victim)); n == 0 {
			t.Fatal("nothing was changed")
		}
		for cursor, pages := "", 0; ; pages++ {
			page, err := r.w.Events(r.ctx, ids.victim, world.EventQuery{Cursor: cursor})
			if errors.Is(err, world.ErrCorrupt) {
				break
			}
			if err != nil || !page.More || pages > 10 {
				t.Fatalf("page %d of a log with a row that cannot be: more %t, %v; want %v", pages, page.More, err, world.ErrCorrupt)
			}
			cursor = page.Cursor
		}
	})
	t.Run("a row of the queue without its run", func(t *testing.T) {
		s.Restore(t)
		r := newRig(t, s.Open(t))
		k := r.worker("victim", "over", "good")
		s.Orphan(t, ids.victim)
		given := 0
		for range 10 {
			given += len(k.claim(10, 10).Runs)
		}
		r.same(given, 1, "runs that were given")
		r.sweep(100)
		lost := "NOT EXISTS (SELECT 1 FROM runs WHERE key = queue.run)"
		r.same(s.Count(t, "SELECT count(*) FROM queue WHERE owner IS NOT NULL AND "+lost), 0, "rows of no run that somebody owns")
		r.same(s.Count(t, "SELECT count(*) FROM queue WHERE paused AND "+lost), 1, "rows of no run that are put aside")
		r.named("rows of no run", "", "of queue")
	})
}

// getOf takes all that there is, and returns the session of one.
func (k *worker) getOf(run string) (*session, world.ClaimedRun) {
	k.Helper()
	for _, t := range k.claim(10, 10).Runs {
		if t.Run == run {
			return &session{worker: k, run: run, claimed: t.Claim, seq: t.Seq}, t
		}
	}
	k.Fatalf("run %s was not given", run)
	return nil, world.ClaimedRun{}
}

// named holds that a check of the doctor is bad and says something; without one, that [world.Verify] names the run, and says it.
func (r *rig) named(check, run, says string) {
	r.Helper()
	if check == "" {
		v, err := world.Verify(r.ctx, r.w, world.VerifyQuery{})
		r.must(err, "verify")
		if len(v.Damaged) != 1 || v.Damaged[0].Run != run || !strings.Contains(v.Damaged[0].What, says) {
			r.Errorf("verify names %+v, want run %s, and %q", v.Damaged, run, says)
		}
		return
	}
	if f := r.finding(check); f.Health != world.HealthBad || !strings.Contains(f.Found, says) || f.Advice == "" {
		r.Errorf("doctor: %+v, want it bad, with %q", f, says)
	}
}

// well holds that a check of the doctor is good.
func (r *rig) well(check string) {
	r.Helper()
	if f := r.finding(check); f.Health != world.HealthGood {
		r.Errorf("doctor: %+v, want it good", f)
	}
}

func (r *rig) finding(check string) world.Finding {
	r.Helper()
	all, err := world.Findings(r.ctx, r.able.Doctor)
	r.must(err, "examine")
	for _, f := range all {
		if f.Check == check {
			return f
		}
	}
	r.Fatalf("doctor does not look at %q", check)
	return world.Finding{}
}
