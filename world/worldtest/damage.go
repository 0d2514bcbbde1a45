// Damage: what is kept of one run is changed behind the world's back. Nothing panics, all others go on, and the run is named.

package worldtest

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stepwell/stepwell/world"
)

// DamageStore is a world whose storage can be changed behind its back.
type DamageStore interface {
	// Open opens a world on what is kept.
	Open(t testing.TB) world.World
	// Keep notes what is there; Restore brings that back. No world is open then.
	Keep(t testing.TB)
	Restore(t testing.TB)
	// Columns lists all tables and their columns.
	Columns(t testing.TB) [][2]string
	// Spoil changes a column of the rows of a run, or of all rows of a table that is of no run. It reports whether it could: no row may be there, or the store may
	// not allow it.
	Spoil(t testing.TB, table, column, how, run string) bool
	// Orphan deletes the row of a run, and leaves all that hangs on it.
	Orphan(t testing.TB, run string)
}

// Hows are the ways of [DamageStore].Spoil.
var Hows = []string{"flip", "garbage", "null", "type"}

// named are the columns of which a flipped bit must be found by whoever reads the row.
var named = map[string][]string{
	"log":    {"head", "body", "seq"},
	"inbox":  {"head", "body"},
	"tasks":  {"input", "options", "workflow"},
	"chunks": {"data"},
	"runs":   {"workflow", "priority", "parent_step", "retention_ns", "output", "error"},
}

// RunDamage holds a world to what is promised of damage: each column of each table, in each way. some says which are tried; nil: all.
func RunDamage(t *testing.T, s DamageStore, some func(table, column, how string) bool) {
	ids := damageScene(t, s.Open(t))
	s.Keep(t)
	columns := s.Columns(t)
	if len(columns) < 80 {
		t.Fatalf("the schema has %d columns", len(columns))
	}
	tried := 0
	for _, at := range columns {
		for _, how := range Hows {
			if some != nil && !some(at[0], at[1], how) {
				continue
			}
			for _, run := range []string{ids.victim, ids.over} {
				name := fmt.Sprintf("%s.%s/%s/%s", at[0], at[1], how, map[bool]string{true: "over", false: "alive"}[run == ids.over])
				t.Run(name, func(t *testing.T) {
					s.Restore(t)
					w := s.Open(t)
					r := newRig(t, w)
					k := r.worker("victim", "good", "over")
					if !s.Spoil(t, at[0], at[1], how, run) {
						return
					}
					tried++
					r.damaged(k, ids, run, how == "flip" && slices.Contains(named[at[0]], at[1]))
				})
			}
		}
	}
	if some == nil && tried == 0 {
		t.Errorf("%d kinds of damage were tried", tried)
	}
	t.Run("without its row", func(t *testing.T) {
		s.Restore(t)
		w := s.Open(t)
		r := newRig(t, w)
		k := r.worker("victim", "good", "over")
		s.Orphan(t, ids.victim)
		r.damaged(k, ids, ids.victim, false)
		if d, ok := w.(world.Doctor); ok {
			all, err := d.Examine(r.ctx)
			r.must(err, "examine")
			if !slices.ContainsFunc(all, func(f world.Finding) bool { return f.Check == "rows of no run" && f.Health == world.HealthBad }) {
				t.Errorf("doctor does not name rows of no run: %+v", all)
			}
		}
	})
}

// SomeDamage picks one in eight kinds of damage; all: nil, which is all of them.
func SomeDamage(t testing.TB, all bool) func(table, column, how string) bool {
	if all {
		return nil
	}
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	return func(string, string, string) bool { return rng.IntN(8) == 0 }
}

type damageIDs struct{ victim, over, good string }

// damageScene makes a run of which something is in every table, one that is over, and one that is left alone.
func damageScene(t *testing.T, w world.World) (ids damageIDs) {
	r := &rig{T: t, w: w, ctx: t.Context()}
	k := r.worker("victim", "over", "good")
	s := k.bear("victim", func(b *world.Birth) {
		b.Attributes = map[string]json.RawMessage{"city": jsonText(`"Ulm"`)}
		b.Retention = time.Hour
		b.Parent = &world.Parent{Run: "elsewhere", Step: "step_p"}
	})
	s.append(waitCreated("wait_1", world.Now().Add(time.Hour)), hookCreated("hook_1", "token"))
	s.queueTask("step_1")
	s.write(s.withStream("s", "", 45, 46))
	s.append(world.Event{Type: world.SignalReceived, Name: "sum", Payload: jsonText(`45`), Time: world.Now()})
	s.release(world.Release{WakeAt: world.Now()})
	r.deliver(signal(s.run, "again", "b"))
	o := k.bear("over", func(b *world.Birth) { b.Key = "key" })
	o.write(o.withStream("s", "", 45))
	o.write(o.next(world.Event{Type: world.RunCompleted, Payload: jsonText(`45`)}))
	good := r.born("good")
	r.must(w.Leave(r.ctx, k.id), "leave")
	r.must(w.Close(), "close")
	return damageIDs{s.run, o.run, good}
}

// damaged looks at a world of which one run is damaged: nothing panics, and all that is not of that run is as it was.
func (r *rig) damaged(k *worker, ids damageIDs, run string, must bool) {
	r.Helper()
	page, err := r.w.Runs(r.ctx, world.RunQuery{})
	r.must(err, "runs")
	if _, err := json.Marshal(page); err != nil {
		r.Fatalf("runs as JSON: %v", err)
	}
	found := false
	name := func(damage string, err error) {
		found = found || damage != "" || errors.Is(err, world.ErrCorrupt)
	}
	for _, other := range []string{ids.victim, ids.over, ids.good} {
		if other != run && !slices.ContainsFunc(page.Runs, func(row world.Run) bool { return row.ID == other }) {
			r.Errorf("run %s is not listed", other)
		}
	}
	for i := range page.Runs {
		id := page.Runs[i].ID
		name(page.Runs[i].Damage, nil)
		fine := func(err error, what string) {
			name("", err)
			if err != nil && (id == ids.good || !errors.Is(err, world.ErrCorrupt) && !errors.Is(err, world.ErrFormat) && !errors.Is(err, world.ErrNotFound)) {
				r.Errorf("%s of run %s: %v", what, id, err)
			}
		}
		row, err := r.w.Run(r.ctx, id)
		fine(err, "the row")
		name(row.Damage, nil)
		_, err = r.w.Events(r.ctx, id, world.EventQuery{})
		fine(err, "events")
		_, err = r.w.Chunks(r.ctx, id, "s", world.ChunkQuery{})
		fine(err, "chunks")
		_, err = r.w.StreamsOf(r.ctx, id)
		fine(err, "streams")
		if tr, ok := r.w.(world.TaskReader); ok {
			tasks, err := tr.Tasks(r.ctx, id)
			fine(err, "tasks")
			for i := range tasks {
				name(tasks[i].Damage, nil)
			}
		}
	}
	v, err := world.Verify(r.ctx, r.w, world.VerifyQuery{})
	r.must(err, "verify")
	found = found || len(v.Damaged) > 0
	_, err = r.w.Hooks(r.ctx, world.HookQuery{})
	r.must(err, "hooks")
	stats, err := r.w.Stats(r.ctx)
	r.must(err, "stats")
	if _, err := json.Marshal(stats); err != nil {
		r.Errorf("stats as JSON: %v", err)
	}
	if rr, ok := r.w.(world.ReadyReader); ok {
		_, err := rr.Ready(r.ctx, world.ReadyQuery{Classes: k.classes, Steps: k.steps})
		r.must(err, "what is ready")
	}
	if d, ok := r.w.(world.Doctor); ok {
		_, err := d.Examine(r.ctx)
		r.must(err, "examine")
	}
	if _, err := r.w.Sweep(r.ctx, 100); err != nil {
		r.Errorf("sweep: %v", err)
	}
	r.takeDamaged(k, ids, name)
	if must && !found {
		r.Errorf("nobody names the damage")
	}
	// What an operator can do. It may find nobody, or one who is over; it neither hangs nor panics.
	_, err = r.w.Deliver(r.ctx, &world.Delivery{Run: run, Act: true, Events: []world.Event{{Type: world.RunCancelled, By: "operator"}}})
	if err != nil && !errors.Is(err, world.ErrNotFound) && !errors.Is(err, world.ErrTerminal) {
		r.Errorf("a forced cancel: %v", err)
	}
	_, err = r.w.Beat(r.ctx, world.BeatQuery{Worker: k.id})
	if err != nil && !errors.Is(err, world.ErrLeaseLost) {
		r.Errorf("a beat: %v", err)
	}
}

// takeDamaged takes all that there is, and works on the run that is left alone.
func (r *rig) takeDamaged(k *worker, ids damageIDs, name func(string, error)) {
	r.Helper()
	good := false
	for range 3 {
		taken, err := r.w.Take(r.ctx, world.TakeQuery{Worker: k.id, Classes: k.classes, Steps: k.steps, Runs: 10, Tasks: 10})
		if errors.Is(err, world.ErrLeaseLost) { // its own row is damaged
			k = r.worker("victim", "good", "over")
			continue
		}
		r.must(err, "take")
		for _, t := range taken.Tasks {
			name(t.Damage, nil)
		}
		for _, t := range taken.Runs {
			name(t.Damage, nil)
			for _, m := range t.Mail {
				name(m.Damage, nil)
			}
			if t.Run != ids.good {
				continue
			}
			good = true
			s := &session{worker: k, run: t.Run, taken: t.Take, seq: t.Seq}
			s.append(world.Event{Type: world.RunStarted, Time: world.Now()})
			s.end()
		}
	}
	if !good {
		r.Errorf("the run that is left alone was not given")
	}
}
