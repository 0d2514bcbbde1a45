// The scene of damage: a run of which something is in every table.

package worldtest

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stepwell/stepwell/internal/spread"
	"github.com/stepwell/stepwell/world"
)

// damageQueues makes queues that are named as the workflows of the scene's runs, with something in every column.
func damageQueues(r *rig) {
	q := r.w.Messages()
	for _, name := range []string{"good", "victim", "over"} {
		r.must(q.DeclareQueue(r.ctx, world.MessageQueue{Name: name, MaxReceives: 3}), "declare a queue")
		send := func(text, group string) {
			_, err := q.SendMessages(r.ctx, []world.Message{{Queue: name, Payload: quoted(text), Group: group, Dedupe: text}})
			r.must(err, "send")
		}
		receive := func() world.Settlement {
			got, err := q.ReceiveMessages(r.ctx, world.ReceiveQuery{Queue: name, Limit: 1, Visibility: time.Hour})
			r.must(err, "receive")
			if len(got.Messages) != 1 {
				r.Fatalf("received %+v, want one message", got.Messages)
			}
			return world.Settlement{Receipt: got.Messages[0].Receipt}
		}
		send("grouped", "g")
		receive() // it is out
		send("behind it", "g")
		send("dead", "")
		dead := receive()
		dead.Kind, dead.Error = world.Bury, "no luck"
		_, err := q.SettleMessages(r.ctx, []world.Settlement{dead})
		r.must(err, "bury")
		limits := []world.SaidLimit{{Name: name, Number: 1}, {Name: name + "-pace", Number: 1, Per: time.Hour}}
		r.must(q.DeclareQueue(r.ctx, world.MessageQueue{Name: name, MaxReceives: 3, Limits: limits}), "limit a queue")
		send("limited", "")
		receive()
		send("in line", "")
		r.must(q.DeclareQueue(r.ctx, world.MessageQueue{Name: name, MaxReceives: 3, Limits: limits[:0]}), "limit it no more")
		send("free 1", "")
		send("free 2", "")
	}
	r.must(q.PauseQueue(r.ctx, "over", &world.QueuePause{By: "ann", Reason: "a test"}), "pause a queue")
}

// damageLimits has runs of a key of their own stand in line, with something in every column.
func damageLimits(r *rig) {
	l := &limiting{r, r.w.Limits()}
	l.line(3, "limited", under("damaged/key:5"))
	_, err := r.w.Join(r.ctx, world.Worker{ID: "wrk_weighs", Steps: []string{"task"}, Lease: longLease, StepLimits: []world.SaidLimit{
		{Name: "damaged", Number: 5, Path: "key", Weights: map[string]int{"key": 2, "none": 3}},
	}})
	r.must(err, "join")
	one := 1
	r.must(l.l.SetLimit(r.ctx, "damaged", &one), "set a limit")
	l.line(2, "limited", under("damaged/other:5"))
	s := r.worker("limited").create("limited")
	l.queue(s, under("damaged/task:5", "damaged-all:5"), "step_a", "step_b") // one place each: one stands in line
	l.queue(s, paced("damaged-pace", 1, time.Hour), "step_c")
}

// damageTopics makes subscriptions that are named as the queues, with something in every column.
func damageTopics(r *rig) {
	topics := r.w.Topics()
	for _, name := range []string{"good", "victim", "over"} {
		r.must(spread.Of(r.w).Subscribe(r.ctx, world.Subscription{Name: name, Pattern: name + ".#", Queue: name}), "subscribe")
		sent, err := topics.Publish(r.ctx, []world.Publication{
			{Topic: name, Source: "me", Payload: quoted("due"), Dedupe: "due"}, {Topic: name, Payload: quoted("later"), Delay: time.Hour}, {Topic: name, Payload: quoted("aside")},
		})
		r.must(err, "publish")
		due, err := topics.Due(r.ctx, world.DueQuery{Limit: 1})
		r.must(err, "what is due")
		_, err = topics.Spread(r.ctx, world.Spread{Revision: due.Revision, Aside: []world.Aside{{ID: sent[2].ID, Error: "a test"}}})
		r.must(err, "set aside")
	}
}

// damageScene makes a run of which something is in every table, one that is over, and one that is left alone.
func damageScene(t *testing.T, w world.World) (ids damageIDs) {
	r := &rig{T: t, w: w, able: w.Abilities(), ctx: t.Context()}
	k := r.worker("victim", "over", "good")
	good := r.createRun("good")
	s := k.create("victim", func(b *world.Birth) {
		b.Attributes = map[string]json.RawMessage{"city": jsonText(`"Ulm"`)}
		b.Retention = time.Hour
		b.Key = "victim"
		b.Parent = &world.Parent{Run: "elsewhere", Step: "step_p"}
		b.Origin = &world.Origin{Run: "before"}
	})
	s.append(waitCreated("wait_1", world.Now().Add(time.Hour)), hookCreated("hook_1", "token"), hookCreated("hook_2", "token_2"))
	s.append(world.Event{Type: world.HookDisposed, ID: "hook_2"})
	s.append(listens("wait_2", "never", `{"order":1}`, time.Hour))
	var value, goodValue string
	value, goodValue = r.keep(s.run, "large", "left"), r.keep(good, "good")
	s.append(refer(stepCreated("step_apart", world.KindClosure), value))
	s.await("step_a", good)
	s.queueTask("step_1")
	r.deliver(k.retry(k.getTask(), "BUSY", world.Now()))
	s.write(s.withStream("s", "", 45, 46))
	s.append(world.Event{Type: world.SignalReceived, Name: "sum", Payload: jsonText(`45`), Time: world.Now()})
	s.release(world.Release{WakeAt: world.Now(), Waiting: "a while"})
	r.deliver(act(s.run, "act-1", world.RunPaused))
	r.deliver(act(s.run, "act-2", world.RunResumed))
	again := signal(s.run, "again", "b")
	again.Sender = good
	r.deliver(again)
	o := k.live("over", func(b *world.Birth) { b.Key = "key" })
	o.append(signalEvent("a"))
	o.proceed(o.seq + 1)
	o.write(o.withStream("s", "", 45))
	r.deliver(signal(o.run, "late", "late"))
	end := world.Event{Type: world.RunCompleted, Payload: jsonText(`45`)}
	end = refer(end, r.keep(o.run, "output"))
	o.session.write(o.next(end))
	damageQueues(r)
	damageTopics(r)
	damageSchedules(r)
	damageLimits(r)
	r.must(r.w.Starts().Hold(r.ctx, world.Hold{Workflow: "held", By: "ann", Note: "a test"}), "hold")
	_, err := r.w.BindKey(r.ctx, "key", []byte("print"))
	r.must(err, "bind a key")
	described := says("defined", 2, time.Hour, 0)
	described.Describe(jsonText(`{"input":{"type":"string"}}`))
	r.must(r.w.Define(r.ctx, []world.Definition{described}), "define")
	_, _, err = r.w.LimitRetention(r.ctx, time.Hour, false)
	r.must(err, "limit retention")
	r.must(r.w.KeepMetrics(r.ctx, counted("damaged", 1, "[]")), "keep metrics")
	r.must(w.Leave(r.ctx, k.id), "leave")
	r.mortal(shortLease, "good") // it is there, and dead
	r.must(w.Close(), "close")
	return damageIDs{s.run, o.run, good, value, goodValue}
}
