// Times: there are those of the years 1 to 9999. What a world took beyond them would fail whatever reads it.

package worldtest

import (
	"encoding/json"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/journal"
)

// extremes are times that there are not, from a little too far to as far as a time can be.
var extremes = []time.Time{
	world.MaxTime.Add(time.Microsecond),
	time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC),
	time.Date(9999, 12, 31, 23, 0, 0, 0, time.FixedZone("west", -14*3600)), // the year 10000 where it is UTC
	time.Date(294247, 1, 10, 4, 0, 55, 0, time.UTC),                        // more microseconds than an integer holds
	time.Unix(math.MaxInt64/2, 0),
	time.Time{}.Add(-time.Nanosecond),
	time.Date(-1, 1, 1, 0, 0, 0, 0, time.UTC),
	time.Unix(math.MinInt64/2, 0),
}

// never is how some write that something never comes: it is in the last microsecond that there is.
var never = time.Date(9999, 12, 31, 23, 59, 59, 999999999, time.UTC)

func waitCreated(id string, until time.Time) world.Event {
	return world.Event{Type: world.WaitCreated, ID: id, Kind: world.KindSleep, Name: id, Until: until}
}

// birthTimes and orderTimes set each time of a birth and of an owner's commit.
var birthTimes = map[string]func(*world.Commit, time.Time){
	"time":       func(c *world.Commit, t time.Time) { c.Events[0].Time = t },
	"occurredAt": func(c *world.Commit, t time.Time) { c.Events[0].OccurredAt = t },
	"notBefore":  func(c *world.Commit, t time.Time) { c.Events[0].Birth.NotBefore = t },
}

var orderTimes = map[string]func(*world.Commit, time.Time){
	"time":       func(c *world.Commit, t time.Time) { c.Events[0].Time = t },
	"occurredAt": func(c *world.Commit, t time.Time) { c.Events[0].OccurredAt = t },
	"until":      func(c *world.Commit, t time.Time) { c.Events[0] = waitCreated("wait_1", t) },
	"retryAt": func(c *world.Commit, t time.Time) {
		c.Events[0] = world.Event{Type: world.StepRetrying, Time: c.Events[0].Time, ID: "step_1", Attempt: 1, RetryAt: t}
	},
	"wakeAt":        func(c *world.Commit, t time.Time) { c.Release = &world.Release{WakeAt: t} },
	"blocked since": func(c *world.Commit, t time.Time) { c.Release = &world.Release{Blocked: &world.Block{Since: t}} },
	"visible": func(c *world.Commit, t time.Time) {
		c.Events[0] = stepCreated("step_1", world.KindTask)
		c.Tasks = []world.Task{{Step: "step_1", Name: "task", Visible: t}}
	},
	"a child's notBefore": func(c *world.Commit, t time.Time) {
		c.Births = []*world.Commit{birth("child", func(b *world.Birth) { b.NotBefore = t })}
	},
	"a send's occurredAt": func(c *world.Commit, t time.Time) {
		d := signal("wrun_other", "", "a")
		d.Events[0].OccurredAt = t
		c.Send = []world.Delivery{*d}
	},
}

// sendTimes are the times of a delivery.
var sendTimes = map[string]func(*world.Delivery, time.Time){
	"time":       func(d *world.Delivery, t time.Time) { d.Events[0].Time = t },
	"occurredAt": func(d *world.Delivery, t time.Time) { d.Events[0].OccurredAt = t },
	"retryAt":    func(d *world.Delivery, t time.Time) { d.RetryAt = t },
}

var times = []check{
	{"times that there are not are refused", "each field with each extreme: ErrInvalid, and nothing is written", func(r *rig) {
		s := r.worker("greet").create("greet")
		for _, t := range extremes {
			for name, set := range birthTimes {
				c := birth("greet")
				set(c, t)
				_, err := r.w.Commit(r.ctx, c)
				r.refused(err, world.ErrInvalid, fmt.Sprintf("a birth with %s %s", name, t))
				r.absent(c.Run)
			}
			r.unchanged(s.run, func() {
				for name, set := range orderTimes {
					c := s.next(signalEvent("a"))
					set(c, t)
					_, err := r.w.Commit(r.ctx, c)
					r.refused(err, world.ErrInvalid, fmt.Sprintf("a commit with %s %s", name, t))
				}
				for name, set := range sendTimes {
					d := signal(s.run, "", "a")
					set(d, t)
					_, err := r.w.Deliver(r.ctx, d)
					r.refused(err, world.ErrInvalid, fmt.Sprintf("a delivery with %s %s", name, t))
				}
			})
			for name, q := range map[string]world.RunQuery{"since": {Since: t}, "until": {Until: t}} {
				_, err := r.w.Runs(r.ctx, q)
				r.refused(err, world.ErrInvalid, fmt.Sprintf("a list %s %s", name, t))
			}
		}
		_, err := r.w.Commit(r.ctx, birth("greet", func(b *world.Birth) { b.Timeout = -1 }))
		r.refused(err, world.ErrInvalid, "a timeout of less than nothing")
	}},
	{"the last time that there is can be read", "never is a time like others, in each field; what it is in can be listed and taken, and written as JSON", func(r *rig) {
		k := r.worker("greet", "sleep")
		late := r.createRun("greet", func(b *world.Birth) { b.NotBefore, b.Retention, b.Timeout = never, math.MaxInt64, math.MaxInt64 })
		s := k.create("sleep")
		s.append(waitCreated("wait_1", never))
		c := s.next(stepCreated("step_1", world.KindTask))
		c.Tasks = []world.Task{{Step: "step_1", Name: "task", Visible: never}}
		s.write(c)
		s.append(world.Event{Type: world.SignalReceived, Name: "a", OccurredAt: never})
		s.release(world.Release{WakeAt: never, Blocked: &world.Block{Code: world.CodePanic, Since: never}})
		r.readable(k)
		k.idle("nothing is due")
		row := r.run(late)
		r.same(row.Queue.WakeAt.Truncate(time.Microsecond), world.MaxTime, "when the delayed run is due")
		for _, e := range r.events(s.run) {
			if e.Type == world.WaitCreated {
				r.same(e.Until.Truncate(time.Microsecond), world.MaxTime, "the deadline of the wait")
			}
		}
		r.same(len(r.list(world.RunQuery{Until: never})), 2, "runs before never")
	}},
}

// readable asks for everything that the world can list, take and count, and writes it as JSON.
func (r *rig) readable(k *worker) {
	r.Helper()
	show := func(what string, v any, err error) {
		r.Helper()
		r.must(err, what)
		if _, err := json.Marshal(v); err != nil {
			r.Fatalf("%s as JSON: %v", what, err)
		}
	}
	page, err := r.w.Runs(r.ctx, world.RunQuery{})
	show("runs", page, err)
	for i := range page.Runs {
		run, err := r.w.Run(r.ctx, page.Runs[i].ID)
		show("a run", run, err)
		log, err := r.w.Events(r.ctx, run.ID, world.EventQuery{})
		show("events", log, err)
		j := journal.New(run.ID, true)
		j.Add(log.Events...)
		show("the journal", j, nil)
		chunks, err := r.w.Chunks(r.ctx, run.ID, "s", world.ChunkQuery{})
		show("chunks", chunks, err)
		rows, err := r.w.StreamsOf(r.ctx, run.ID)
		show("streams", rows, err)
		tasks, err := r.w.Tasks(r.ctx, run.ID)
		show("tasks", tasks, err)
	}
	hooks, err := r.w.Hooks(r.ctx, world.HookQuery{})
	show("hooks", hooks, err)
	stats, err := r.w.Stats(r.ctx)
	show("stats", stats, err)
	ready, err := r.w.Ready(r.ctx, world.ReadyQuery{Classes: []world.Class{{Workflow: "greet", Version: 1}, {Workflow: "sleep", Version: 1}}, Steps: k.steps})
	show("what is ready", ready, err)
	heartbeat, err := r.w.Heartbeat(r.ctx, world.HeartbeatQuery{Worker: k.id})
	show("a beat", heartbeat, err)
	claimed, err := r.w.Claim(r.ctx, world.ClaimQuery{Worker: k.id, Classes: k.classes, Steps: k.steps})
	show("a claim of nothing", claimed, err)
}

// RunOldTimes tests a store with invalid times in its rows, which an earlier release may have left.
// None may break a list, a claim or a count for other runs, and all must encode as JSON. open
// returns an empty store, and a function that sets each stored time in turn to us, in microseconds
// since 1970, and then calls look.
func RunOldTimes(t *testing.T, open func(testing.TB) (w world.World, spoil func(us int64, look func(what string)))) {
	RunOldTimesSome(t, open, func(int) bool { return true })
}

// RunOldTimesSome is [RunOldTimes] with only those of its four times that try selects by number,
// from 1.
func RunOldTimesSome(t *testing.T, open func(testing.TB) (w world.World, spoil func(us int64, look func(what string))), try func(check int) bool) {
	for i, us := range []int64{math.MinInt64, time.Date(-1, 1, 1, 0, 0, 0, 0, time.UTC).UnixMicro(), time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC).UnixMicro(), math.MaxInt64} {
		if !try(i + 1) {
			continue
		}
		t.Run(fmt.Sprint(us), func(t *testing.T) {
			w, spoil := open(t)
			r := newRig(t, w)
			k := r.worker("greet", "sleep", "over")
			r.createRun("greet", func(b *world.Birth) { b.NotBefore = world.Now().Add(time.Hour) })
			s := k.create("sleep")
			s.append(waitCreated("wait_1", world.Now().Add(time.Hour)), hookCreated("hook_1", "token"), stepCreated("step_2", world.KindClosure),
				world.Event{Type: world.StepRetrying, ID: "step_2", Attempt: 1, RetryAt: world.Now(), Error: &world.Error{Message: "no"}})
			s.queueTask("step_1")
			c := s.next(signalEvent("a"))
			c.Events[0].OccurredAt = world.Now()
			c.Streams = []world.StreamWrite{{Stream: "s", Chunks: []json.RawMessage{jsonText(`1`)}}}
			s.write(c)
			s.release(world.Release{WakeAt: world.Now().Add(time.Hour)})
			r.deliver(signal(s.run, "", "b"))
			k.create("over").end()
			spoil(us, func(what string) {
				defer func() {
					if t.Failed() {
						t.Logf("with %s", what)
					}
				}()
				r.readable(r.worker("none"))
			})
			k = r.worker("greet", "sleep", "over")
			claimed := k.claim(10, 10)
			if _, err := json.Marshal(claimed); err != nil {
				t.Fatalf("what was taken as JSON: %v", err)
			}
			for _, run := range claimed.Runs { // they go on
				one := &session{worker: k, run: run.Run, claimed: run.Claim, seq: run.Seq}
				one.append(signalEvent("c"))
			}
			innocent := r.createRun("greet")
			k.get(innocent)
			if _, err := r.w.Sweep(r.ctx, 100); err != nil {
				t.Fatal(err)
			}
		})
	}
}
