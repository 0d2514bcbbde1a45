// Waits that listen to what is published.

package worldtest

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/stepwell/stepwell/internal/spread"
	"github.com/stepwell/stepwell/world"
)

// listens is a wait_created that listens.
func listens(wait, pattern, match string, since time.Duration) world.Event {
	return world.Event{
		Type: world.WaitCreated, ID: wait, Kind: world.KindEvent, Name: pattern, Match: json.RawMessage(match),
		Listen: world.NewListen(pattern, since, json.RawMessage(match), "", nil),
	}
}

// heard are the waits for which something has come to a run, and is not read.
func (s *session) heard() (waits []string) {
	s.Helper()
	for _, m := range s.mail() {
		if e := m.Events[0]; e.Type != world.SignalReceived || e.Name != "order.paid" {
			s.Errorf("mail: got %+v", e)
		}
		waits = append(waits, m.Events[0].ID)
	}
	slices.Sort(waits)
	return waits
}

// pay publishes and spreads.
func (p *publishing) pay(payload string) {
	p.Helper()
	p.put(world.Publication{Topic: "order.paid", Payload: []byte(payload)})
	p.spread()
}

var listening = []check{
	{"a wait gets what is published", "who listens gets what its match contains, once", withTopics(func(p *publishing) {
		s := p.worker("greet").create("greet")
		s.append(
			listens("wait_a", "order.paid", `{"order":1}`, 0), listens("wait_b", "order.*", `{"order":1.0,"by":{"card":true}}`, 0),
			listens("wait_c", "order.paid", `{"order":2}`, 0), listens("wait_d", "#", ``, 0), listens("wait_e", "user.#", `{"order":1}`, 0))
		p.pay(`{"by":{"card":true},"order":1e0}`)
		p.same(s.heard(), []string{"wait_a", "wait_b", "wait_d"}, "waits that got it")
		p.spread()
		p.same(len(s.heard()), 3, "mail after another look")
	})},
	{"a wait gets nothing from before it", "what was published, and has not gone out, before a run was there is none of its; what is delayed is", withTopics(func(p *publishing) {
		p.put(world.Publication{Topic: "order.paid", Payload: []byte(`1`)})
		p.put(world.Publication{Topic: "order.paid", Payload: []byte(`2`), Delay: time.Millisecond})
		for end := world.Now().Add(5 * time.Millisecond); world.Now().Before(end); { // until the delayed one is due by any clock
		}
		early := p.worker("greet").create("greet")
		early.append(listens("wait_a", "order.paid", ``, 0), listens("wait_b", "order.paid", ``, time.Hour))
		p.put(world.Publication{Topic: "order.paid", Payload: []byte(`3`)})
		p.spread()
		p.same(early.heard(), []string{"wait_a", "wait_b", "wait_b", "wait_b"}, "waits that got it")
	})},
	{"a wait that is over gets nothing", "what listens ends with its wait, its segment and its run", withTopics(func(p *publishing) {
		k := p.worker("greet")
		over := func(e world.Event) world.Event { e.Listened, e.Time = true, world.Now(); return e }
		ended, continued, completed := k.create("greet"), k.create("greet"), k.create("greet")
		for _, s := range []*session{ended, continued, completed} {
			s.append(listens("wait_a", "order.paid", ``, 0))
		}
		ended.append(over(world.Event{Type: world.WaitCompleted, ID: "wait_a", Outcome: world.OutcomeDue}))
		continued.append(over(world.Event{Type: world.RunContinued, Next: &world.Continuation{}}), listens("wait_b", "order.paid", ``, 0))
		completed.append(over(world.Event{Type: world.RunCompleted}))
		forced := k.create("greet")
		forced.append(listens("wait_a", "order.paid", ``, 0))
		p.deliver(act(forced.run, "", world.RunCancelled))
		p.pay(`1`)
		p.same(len(ended.heard()), 0, "mail for a wait that is over")
		p.same(continued.heard(), []string{"wait_b"}, "mail in a new segment")
		all, err := p.t.Listeners(p.ctx, world.ListenerQuery{Any: p.hashes(`1`), Limit: 10})
		p.must(err, "listeners")
		p.same(len(all), 1, "waits that listen yet")
		p.same(all[0].Run, continued.run, "whose it is")
	})},
	{"a wait looks back", "what was published since comes to a wait that asks for it", withTopics(func(p *publishing) {
		p.pay(`{"order":1,"n":1}`)
		p.pay(`{"order":2,"n":2}`)
		s := p.worker("greet").create("greet")
		s.append(listens("wait_a", "order.*", `{"order":1}`, time.Hour), listens("wait_b", "order.*", `{"order":1}`, 0))
		p.spread()
		p.same(s.heard(), []string{"wait_a"}, "waits that got what was before")
		p.pay(`{"order":1,"n":3}`)
		p.same(s.heard(), []string{"wait_a", "wait_a", "wait_b"}, "and what came then")
		shapes, err := p.t.Shapes(p.ctx)
		p.must(err, "shapes")
		p.same(len(shapes), 1, "shapes")
	})},
	{"a wait looks back for what is in arrays", "however much was published that differs in arrays alone, it gets what it matches, and that alone", withTopics(func(p *publishing) {
		all := make([]world.Publication, 130)
		for i := range all {
			all[i] = world.Publication{Topic: "order.paid", Payload: []byte(`{"order":1,"by":["ann"]}`)}
		}
		all[120].Payload = []byte(`{"order":1,"by":["bob","ann"]}`)
		sent := p.put(all...)
		p.spread()
		s := p.worker("greet").create("greet")
		s.append(listens("wait_a", "order.*", `{"order":1,"by":["bob"]}`, time.Hour), listens("wait_b", "order.*", `{"order":1,"by":["eve"]}`, time.Hour))
		p.spread()
		mail := s.mail()
		p.same(len(mail), 1, "mail")
		p.same(mail[0].ID, world.ListenDelivery(sent[120].ID, "wait_a"), "what came")
	})},
	{"a wait looks back at what has just gone out", "what was published, and spread to nobody, since it was looked what is due comes to a wait that began since", withTopics(func(p *publishing) {
		s := p.worker("greet").create("greet")
		slow := &slowLook{Publisher: p.t, meanwhile: func() {
			sent := p.put(world.Publication{Topic: "order.paid", Payload: []byte(`1`)})
			due, err := p.t.Due(p.ctx, world.DueQuery{Limit: 10})
			p.must(err, "due")
			s.append(listens("wait_a", "order.paid", ``, time.Hour))
			done, err := p.t.Spread(p.ctx, world.Spread{Revision: due.Revision, Done: []string{sent[0].ID}})
			p.must(err, "spread by who has not seen the wait")
			p.same(done, true, "whether it was spread")
		}}
		_, err := (&spread.Spreader{Topics: slow, Queues: p.k}).All(p.ctx)
		p.must(err, "spread")
		p.same(s.heard(), []string{"wait_a"}, "waits that got it")
	})},
	{"many wait", "each gets it, in pages", withTopics(func(p *publishing) {
		s := p.worker("greet").create("greet")
		var events []world.Event
		var want []string
		for i := range 30 {
			want = append(want, "wait_"+string(rune('a'+i/26))+string(rune('a'+i%26)))
			events = append(events, listens(want[i], "order.paid", `{"order":1}`, 0))
		}
		s.append(events...)
		q := world.ListenerQuery{Any: p.hashes(`{"order":1}`), Limit: 7}
		var got []string
		for {
			page, err := p.t.Listeners(p.ctx, q)
			p.must(err, "listeners")
			for _, l := range page {
				got, q.After = append(got, l.Wait), l.Place
			}
			if len(page) < q.Limit {
				break
			}
		}
		p.same(got, want, "waits in pages")
		p.pay(`{"order":1}`)
		p.same(s.heard(), want, "waits that got it")
	})},
}

// slowLook lets something happen before it is looked for waits that look back.
type slowLook struct {
	world.Publisher
	meanwhile func() // once
}

func (l *slowLook) Listeners(ctx context.Context, q world.ListenerQuery) ([]world.Listener, error) {
	if f := l.meanwhile; q.Back && f != nil {
		l.meanwhile = nil
		f()
	}
	return l.Publisher.Listeners(ctx, q)
}

// hashes are those under which waits for a payload are found.
func (p *publishing) hashes(payload string) (all []world.Hashed) {
	p.Helper()
	shapes, err := p.t.Shapes(p.ctx)
	p.must(err, "shapes")
	for i := range shapes {
		if hash, ok := shapes[i].Hash([]byte(payload)); ok {
			all = append(all, world.Hashed{Shape: shapes[i].String(), Hash: hash})
		}
	}
	return all
}
