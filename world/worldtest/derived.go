// Beside the log: what is kept there of a run is lost, or changed by hand. The log is the truth.

package worldtest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stepwell/stepwell/world"
)

// RunDerived tests a store's doctor and mender with rows that do not match the logs.
func RunDerived(t *testing.T, s DamageStore) {
	damageScene(t, s.Open(t))
	s.Keep(t)
	key := func(t *testing.T, run string) int {
		return s.Count(t, "SELECT key FROM runs WHERE id = '"+run+"'")
	}
	begin := func(t *testing.T) (*rig, *worker) {
		s.Restore(t)
		r := newRig(t, s.Open(t))
		return r, r.worker("victim", "over", "good")
	}
	t.Run("the newest run loses its row", func(t *testing.T) {
		r, k := begin(t)
		lost := k.create("good")
		lost.append(hookCreated("hook_9", "token_9"))
		lostKey := key(t, lost.run)
		s.Orphan(t, lost.run)
		for range 3 {
			if next := key(t, k.create("good").run); next <= lostKey {
				t.Errorf("a run is created with key %d, which that of a lost run is, %d, or before it", next, lostKey)
			}
		}
		r.must(r.w.Close(), "close")
		r = newRig(t, s.Open(t))
		k = r.worker("good")
		other := k.create("good")
		if next := key(t, other.run); next <= lostKey+3 {
			t.Errorf("a run is created with key %d after the file was opened anew; the last was %d", next, lostKey+3)
		}
		if e := other.claim("hook_1", "token_9"); e.Type != world.HookConflict || e.Peer != fmt.Sprintf("lost_run_%d", lostKey) {
			t.Errorf("the token of a run whose row is lost was asked for: %s, held by %q", e.Type, e.Peer)
		}
		if _, err := r.w.Deliver(r.ctx, &world.Delivery{Token: "token_9", Events: []world.Event{{Type: world.HookReceived}}}); !errors.Is(err, world.ErrNotFound) {
			t.Errorf("a payload for it: %v, want ErrNotFound", err)
		}
		f := r.finding("rows of no run")
		for _, table := range []string{"log", "queue", "hooks"} {
			if want := fmt.Sprintf("rows of %s (keys of runs: 1, first %d)", table, lostKey); f.Health != world.HealthBad || !strings.Contains(f.Found, want) {
				t.Errorf("doctor: %+v, want it bad, with %q", f, want)
			}
		}
		_, rid, _ := strings.Cut(f.Advice, ":  ")
		for text := range strings.SplitSeq(rid, "; ") {
			s.Exec(t, text)
		}
		r.well("rows of no run")
		r.same(other.claim("hook_2", "token_9").Type, world.HookCreated, "the token when its hook is deleted")
	})
	t.Run("a worker that is alive loses its row", func(t *testing.T) {
		r, _ := begin(t)
		k := r.mortal(workingLease, "good")
		run := k.create("good")
		if n := s.Exec(t, "DELETE FROM workers"); n == 0 {
			t.Fatal("nothing was deleted")
		}
		r.until("the worker is listed again", func() bool {
			k.heartbeat()
			stats, err := r.w.Stats(r.ctx)
			r.must(err, "stats")
			for _, w := range stats.Workers {
				if w.ID == k.id && w.Name == "host:1" && w.Runs == 1 && len(w.Classes) > 0 {
					return true
				}
			}
			return false
		})
		other := newRig(t, s.Open(t))
		_, err := other.able.Mender.Mend(r.ctx)
		r.must(err, "mend")
		r.same(r.run(run.run).Queue.Owner, k.id, "the owner of its run")
		run.end()
	})
	t.Run("workers that take, or ask what they hold, lose their rows", func(t *testing.T) {
		r, _ := begin(t)
		k, also := r.mortal(workingLease, "busy"), r.mortal(workingLease, "busy")
		runs := []*session{k.create("busy"), also.create("busy")}
		for range 3 {
			if n := s.Exec(t, "DELETE FROM workers"); n == 0 {
				t.Fatal("nothing was deleted")
			}
			r.until("both are listed again", func() bool {
				for _, k := range []*worker{k, also} {
					k.claim(1, 1)
					held, err := r.w.Held(r.ctx, k.id)
					r.must(err, "held")
					r.same(len(held.Runs), 1, "runs that "+k.id+" holds")
					k.heartbeat()
				}
				stats, err := r.w.Stats(r.ctx)
				r.must(err, "stats")
				return len(stats.Workers) == 2
			})
		}
		for i, k := range []*worker{k, also} {
			r.same(r.run(runs[i].run).Queue.Owner, k.id, "the owner of a run")
			runs[i].end()
		}
	})
	t.Run("nothing is taken from a worker that is alive and has lost its row", func(t *testing.T) {
		r, _ := begin(t)
		k := r.worker("good")
		run := k.create("good")
		if slices.Contains(s.Columns(t), [2]string{"workers", "session"}) {
			r.until("its session is known", func() bool { return s.Count(t, "SELECT count(*) FROM workers WHERE session AND id = '"+k.id+"'") > 0 })
		}
		s.Exec(t, "DELETE FROM workers")
		other := newRig(t, s.Open(t))
		_, err := other.able.Mender.Mend(r.ctx)
		r.must(err, "mend")
		other.sweep(100)
		r.same(s.Count(t, fmt.Sprintf("SELECT count(*) FROM queue WHERE owner IS NOT NULL AND run = %d", key(t, run.run))), 1, "rows of its run that somebody owns")
		r.sweep(100)
		run.end()
	})
	for _, over := range []bool{false, true} {
		t.Run(fmt.Sprintf("who waits for a run is lost/over %t", over), func(t *testing.T) {
			r, k := begin(t)
			target := k.create("good")
			waiter := k.create("victim")
			waiter.await("step_w", target.run)
			waiter.release(world.Release{Waiting: "a run"})
			if n := s.Exec(t, fmt.Sprintf("DELETE FROM awaits WHERE waiter = %d", key(t, waiter.run))); n != 1 {
				t.Fatalf("%d rows deleted", n)
			}
			if over {
				target.end()
			}
			r.named("", waiter.run, "step_w")
			r.mends(waiter.run, "step_w")
			if !over {
				r.same(r.run(waiter.run).Queue.Mail, 0, "mail")
				target.end()
			}
			waits, claimed := k.getOf(waiter.run)
			if len(claimed.Mail) != 1 || claimed.Mail[0].Events[0].ID != "step_w" || claimed.Mail[0].Events[0].Type != world.StepCompleted {
				t.Errorf("the run was given with the mail %+v, want the result of step_w", claimed.Mail)
			}
			waits.release(world.Release{})
		})
	}
	t.Run("a run that another waits for has lost its row", func(t *testing.T) {
		r, k := begin(t)
		target, waiter := k.create("good"), k.create("good")
		waiter.await("step_w", target.run)
		waiter.release(world.Release{Waiting: "a run"})
		s.Orphan(t, target.run)
		for range 2 {
			v, err := world.Verify(r.ctx, r.w, world.VerifyQuery{Mend: true})
			r.must(err, "verify")
			says := "step step_w waits for the end of run " + target.run + ", whose row is lost: restore"
			if len(v.Mended) != 0 || len(v.Damaged) != 1 || v.Damaged[0].Run != waiter.run || v.Damaged[0].Mends || !strings.Contains(v.Damaged[0].What, says) {
				t.Errorf("mended %+v, damaged %+v; want run %s named: %q", v.Mended, v.Damaged, waiter.run, says)
			}
			row := r.run(waiter.run)
			r.same(row.Queue.Mail, 0, "mail of the run that waits")
			r.same(row.Queue.Waiting, "a run", "what it waits for")
		}
	})
	for _, test := range []struct {
		column, says string
		trimmed      bool
	}{
		{"paused", "its row says that it is paused, and its log that it is not paused", false},
		{"running", "its row says that it is pending, and its log that it is running", false},
		{"paused", "its row says that it is paused, and its log that it is not paused", true},
		{"running", "its row says that it is pending, and its log that it is running", true},
	} {
		t.Run(fmt.Sprintf("a row that is not as its log is/%s/trimmed %t", test.column, test.trimmed), func(t *testing.T) {
			r, k := begin(t)
			run := k.live("good")
			if test.trimmed {
				run.append(signalEvent("a"))
				run.append(run.continued(4))
				r.sweep(10)
				run.holds(4, 1, 2, 4)
			}
			run.release(world.Release{WakeAt: world.Now()})
			before := r.counts("good")
			if n := s.Exec(t, fmt.Sprintf("UPDATE queue SET %[1]s = NOT %[1]s WHERE run = %[2]d", test.column, key(t, run.run))); n != 1 {
				t.Fatalf("%d rows changed", n)
			}
			r.named("", run.run, test.says)
			r.mends(run.run, test.says)
			_, err := r.able.Mender.Mend(r.ctx)
			r.must(err, "mend")
			r.same(r.counts("good"), before, "runs that are counted")
			k.getOf(run.run)
		})
	}
	t.Run("each check is told as it is made", func(t *testing.T) {
		r, _ := begin(t)
		var begun, told, want []string
		r.must(r.able.Doctor.Examine(r.ctx, func(check string) {
			if len(begun) != len(told) {
				t.Errorf("%s begins before %s is told", check, begun[len(begun)-1])
			}
			begun = append(begun, check)
		}, func(f world.Finding) { told = append(told, f.Check) }), "examine")
		all, err := world.Findings(r.ctx, r.able.Doctor)
		r.must(err, "examine")
		for _, f := range all {
			want = append(want, f.Check)
		}
		r.same([][]string{begun, told}, [][]string{want, want}, "checks that began, and that were told")
	})
	t.Run("acts on a run whose row says what its log does not", func(t *testing.T) {
		r, k := begin(t)
		flip := func(run string) {
			if n := s.Exec(t, fmt.Sprintf("UPDATE queue SET paused = NOT paused WHERE run = %d", key(t, run))); n != 1 {
				t.Fatalf("%d rows changed", n)
			}
		}
		run := k.create("good")
		run.release(world.Release{WakeAt: world.Now()})
		last := run.seq
		for _, step := range []struct {
			act    world.EventType
			paused bool
			events int64
		}{{resume, false, 0}, {pause, true, 1}, {resume, false, 2}, {pause, true, 3}, {pause, true, 3}} {
			flip(run.run)
			r.act(run.run, step.act)
			r.same(r.run(run.run).Queue.Paused, step.paused, fmt.Sprintf("paused after %s", step.act))
			r.same(int64(len(r.events(run.run))), last+step.events, fmt.Sprintf("events after %s", step.act))
			v, err := world.Verify(r.ctx, r.w, world.VerifyQuery{})
			r.must(err, "verify")
			r.same(len(v.Damaged), 0, "damaged runs")
		}
		flip(run.run)
		r.act(run.run, resume)
		k.getOf(run.run)
	})
}

// mends holds that a reading which mends puts a run right, and that nothing is wrong afterwards.
func (r *rig) mends(run, says string) {
	r.Helper()
	for i, want := range []int{1, 0} {
		v, err := world.Verify(r.ctx, r.w, world.VerifyQuery{Mend: true})
		r.must(err, "verify")
		if len(v.Damaged) != 0 || len(v.Mended) != want || want > 0 && (v.Mended[0].Run != run || !strings.Contains(v.Mended[0].What, says)) {
			r.Errorf("reading %d: damaged %+v, mended %+v; want run %s mended once: %q", i+1, v.Damaged, v.Mended, run, says)
		}
	}
}
