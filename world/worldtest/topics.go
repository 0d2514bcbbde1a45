// Topics: what is published goes to those whom it concerns.

package worldtest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/stepwell/stepwell/internal/spread"
	"github.com/stepwell/stepwell/world"
)

// publishing is what the checks use of a world's topics.
type publishing struct {
	*messaging
	t world.Publisher
	s *spread.Spreader
}

// withTopics is a check of a world that has topics, with a queue that is declared: q.
func withTopics(f func(p *publishing)) func(r *rig) {
	return withMessages(func(m *messaging) {
		f(publisher(m.rig))
	})
}

func publisher(r *rig) *publishing {
	return &publishing{&messaging{r, r.w.Messages()}, r.w.Topics(), spread.Of(r.w)}
}

// subscribe has what fits a pattern go to a queue; "": its own.
func (p *publishing) subscribe(name, pattern, queue string, with ...func(*world.Subscription)) {
	p.Helper()
	sub := world.Subscription{Name: name, Pattern: pattern, Queue: queue}
	if queue == "" {
		sub.Workflow = &world.StartTarget{Name: "greet"}
	}
	for _, f := range with {
		f(&sub)
	}
	p.must(p.s.Subscribe(p.ctx, sub), "subscribe "+name)
}

// publish publishes texts, each under a topic: "a.b:text".
func (p *publishing) publish(texts ...string) []world.Sent {
	p.Helper()
	var all []world.Publication
	for _, text := range texts {
		topic, _, _ := strings.Cut(text, ":")
		all = append(all, world.Publication{Topic: topic, Payload: quoted(text)})
	}
	return p.put(all...)
}

func (p *publishing) put(all ...world.Publication) []world.Sent {
	p.Helper()
	sent, err := p.t.Publish(p.ctx, all)
	p.must(err, "publish")
	if len(sent) != len(all) {
		p.Fatalf("published %d, told of %d", len(all), len(sent))
	}
	return sent
}

// spread spreads all that is due.
func (p *publishing) spread() world.Due {
	p.Helper()
	due, err := p.s.All(p.ctx)
	p.must(err, "spread")
	if len(due.Publications) > 0 {
		p.Fatalf("%d publications stay due", len(due.Publications))
	}
	return due
}

// due is what is to be spread, and how it would be: nothing is written.
func (p *publishing) due(limit int) world.Due {
	p.Helper()
	due, err := p.t.Due(p.ctx, world.DueQuery{Limit: limit})
	p.must(err, "what is due")
	return due
}

// writes has a spread written, or not.
func (p *publishing) writes(want bool, s world.Spread, what string) {
	p.Helper()
	done, err := p.t.Spread(p.ctx, s)
	p.must(err, "spread: "+what)
	p.same(done, want, "spread: "+what)
}

// holds tells what a queue holds, in the order in which it was sent.
func (p *publishing) holds(queue string, want ...string) []world.Message {
	p.Helper()
	page, err := p.k.PeekMessages(p.ctx, world.PeekQuery{Queue: queue, Limit: 1000})
	p.must(err, "peek")
	p.same(textsOf(page.Messages), want, "what queue "+queue+" holds")
	return page.Messages
}

func own(name string) string { return world.SubscriptionQueue + name }

var published = []check{
	{"a queue that a subscription fills stays", "until that is ended: what is published goes there", withTopics(func(p *publishing) {
		q := p.w.Messages()
		p.must(q.DeclareQueue(p.ctx, world.MessageQueue{Name: "filled"}), "declare")
		p.must(p.s.Subscribe(p.ctx, world.Subscription{Name: "fills", Pattern: "a", Queue: "filled"}), "subscribe")
		p.must(p.s.Subscribe(p.ctx, world.Subscription{Name: "own", Pattern: "a", Workflow: &world.StartTarget{Name: "w"}}), "subscribe")
		for _, queue := range []string{"filled", world.SubscriptionQueue + "own"} {
			p.refused(q.DropQueue(p.ctx, queue), world.ErrConflict, "drop the queue "+queue)
		}
		p.must(p.s.Unsubscribe(p.ctx, "fills"), "unsubscribe")
		p.must(q.DropQueue(p.ctx, "filled"), "drop it then")
	})},
	{"what is published is spread", "each subscription whose pattern and filter fit gets one message; the others get none", withTopics(func(p *publishing) {
		p.subscribe("all", "#", "")
		p.subscribe("paid", "order.paid", "q")
		p.subscribe("any", "order.*", "")
		p.subscribe("rich", "order.#", "", func(s *world.Subscription) { s.Match = []byte(`{"rich":true}`) })
		p.holds(own("all"))
		sent := p.put(world.Publication{Topic: "order.paid", Payload: quoted("paid"), Headers: map[string]string{"k": "v"}})
		p.put(world.Publication{Topic: "order.paid.late", Payload: []byte(`{"rich":true,"n":1}`)}, world.Publication{Topic: "user", Payload: quoted("user")})
		p.holds("q")
		p.spread()
		got := p.holds("q", "paid")[0]
		if h := got.Headers; h["k"] != "v" || h[world.HeaderTopic] != "order.paid" || h[world.HeaderPublication] != sent[0].ID || len(h) != 4 || got.Group != "" {
			p.Errorf("the message is %+v", got)
		}
		if at, err := time.Parse(time.RFC3339Nano, got.Headers[world.HeaderPublished]); err != nil || time.Since(at).Abs() > time.Hour {
			p.Errorf("published at %q", got.Headers[world.HeaderPublished])
		}
		p.holds(own("any"), "paid")
		p.holds(own("all"), "paid", "", "user")
		p.holds(own("rich"), "")
		p.spread()
		p.holds(own("any"), "paid")
	})},
	{"a delivery ID", "what is published under a topic with a known delivery ID is what was published before", withTopics(func(p *publishing) {
		p.subscribe("s", "#", "")
		one := world.Publication{Topic: "a", Payload: quoted("one"), Dedupe: "d"}
		first := p.put(one)[0]
		other := one
		other.Topic = "b"
		sent := p.put(one, other, world.Publication{Topic: "a", Payload: quoted("two")})
		if first.Duplicate || !sent[0].Duplicate || sent[0].ID != first.ID || sent[1].Duplicate || sent[2].Duplicate {
			p.Errorf("first %+v, then %+v", first, sent)
		}
		p.spread()
		if _, err := p.w.Sweep(p.ctx, 10); err != nil {
			p.Fatal(err)
		}
		if again := p.put(one)[0]; !again.Duplicate || again.ID != first.ID {
			p.Errorf("when it was spread: %+v", again)
		}
		p.spread()
		p.holds(own("s"), "one", "one", "two")
	})},
	{"order by source", "what one source publishes under one topic is in one group, where the subscription asks for it", withTopics(func(p *publishing) {
		p.subscribe("s", "#", "", func(s *world.Subscription) { s.Ordered = true })
		long := strings.Repeat("x", world.MaxTopic)
		p.put(world.Publication{Topic: "a", Source: "1", Payload: quoted("a1")}, world.Publication{Topic: "a", Source: "2", Payload: quoted("a2")},
			world.Publication{Topic: "b", Source: "1", Payload: quoted("b1")}, world.Publication{Topic: "a", Source: "1", Payload: quoted("a1 again")},
			world.Publication{Topic: long, Source: strings.Repeat("y", world.MaxName), Payload: quoted("long")})
		p.spread()
		all := p.holds(own("s"), "a1", "a2", "b1", "a1 again", "long")
		p.same([]string{all[0].Group, all[1].Group, all[2].Group, all[3].Group}, []string{"a/1", "a/2", "b/1", "a/1"}, "groups")
		p.same(len(all[4].Group), 64, "the group of long names is a hash")
		got, err := p.k.ReceiveMessages(p.ctx, world.ReceiveQuery{Queue: own("s"), Limit: 10})
		p.must(err, "receive")
		texts := textsOf(got.Messages)
		slices.Sort(texts)
		p.same(texts, []string{"a1", "a2", "b1", "long"}, "the first of each group")
	})},
	{"a delay", "what has a delay is spread when it is due, to those who stand then; before it stays nowhere", withTopics(func(p *publishing) {
		p.subscribe("s", "#", "")
		p.put(world.Publication{Topic: "a", Payload: quoted("hour"), Delay: time.Hour}, world.Publication{Topic: "a", Payload: quoted("later"), Delay: 30 * time.Millisecond},
			world.Publication{Topic: "a", Payload: quoted("soon"), Delay: 20 * time.Millisecond}, world.Publication{Topic: "a", Payload: quoted("a:now")})
		p.until("what is due soon", func() bool {
			due := p.spread()
			return due.Next.Sub(due.Now) > time.Minute
		})
		p.holds(own("s"), "a:now", "soon", "later")
		due := p.due(10)
		if in := due.Next.Sub(due.Now); in < 50*time.Minute || in > time.Hour || len(due.Publications) > 0 {
			p.Errorf("the next is due in %s: %+v", in, due.Publications)
		}
		page, err := p.t.Publications(p.ctx, world.PublicationQuery{})
		p.must(err, "publications")
		for _, x := range page.Publications {
			if x.Spread != (textOf(world.Message{Payload: x.Payload}) != "hour") || x.Due.Before(x.At) {
				p.Errorf("publication %s: %+v", x.Payload, x)
			}
		}
	})},
	{"subscriptions change between two spreads", "what was published before a subscription was made, changed or ended goes to those that stood before", withTopics(func(p *publishing) {
		p.subscribe("first", "a", "q")
		p.publish("a:1")
		p.subscribe("second", "a", "")
		p.publish("a:2")
		p.subscribe("first", "b", "q") // it is another one now
		p.publish("a:3", "b:3")
		p.must(p.s.Unsubscribe(p.ctx, "first"), "unsubscribe")
		p.publish("a:4", "b:4")
		p.spread()
		p.holds("q", "a:1", "a:2", "b:3")
		p.holds(own("second"), "a:2", "a:3", "a:4")
		p.refused(p.s.Unsubscribe(p.ctx, "first"), world.ErrNotFound, "end one that is not there")
		p.must(p.s.Unsubscribe(p.ctx, "second"), "unsubscribe")
		_, err := p.k.PeekMessages(p.ctx, world.PeekQuery{Queue: own("second")})
		p.refused(err, world.ErrNotFound, "its own queue")
		all, err := p.t.Subscriptions(p.ctx)
		p.must(err, "subscriptions")
		p.same(len(all), 0, "subscriptions")
	})},
	{"an older deploy turns nothing back", "a subscription of a lower revision than what stands is refused; one that says what stands changes nothing", withTopics(func(p *publishing) {
		rev := func(n int) func(*world.Subscription) { return func(s *world.Subscription) { s.Revision = n } }
		p.subscribe("s", "a", "q", rev(2), func(s *world.Subscription) { s.Made = world.Provenance{By: "code", At: time.Unix(1, 0).UTC()} })
		before := p.due(1).Revision
		p.subscribe("s", "a", "q", rev(2), func(s *world.Subscription) { s.Made = world.Provenance{By: "another"} })
		p.same(p.due(1).Revision, before, "the revision of all")
		p.refused(p.s.Subscribe(p.ctx, world.Subscription{Name: "s", Pattern: "b", Queue: "q", Revision: 1}), world.ErrConflict, "an older one")
		p.subscribe("s", "b", "q", rev(3))
		all, err := p.t.Subscriptions(p.ctx, "s", "nobody")
		p.must(err, "subscriptions")
		p.same(all, []world.Subscription{{Name: "s", Pattern: "b", Queue: "q", Revision: 3}}, "what stands")
		p.subscribe("t", "b", "")
		p.refused(p.s.Subscribe(p.ctx, world.Subscription{Name: "t", Pattern: "b", Queue: "q"}), world.ErrConflict, "another queue for one that has its own")
		p.refused(p.s.Subscribe(p.ctx, world.Subscription{Name: "u", Pattern: "b", Queue: "nobody"}), world.ErrNotFound, "a queue that was not declared")
	})},
	{"a subscription is read as it was made", "all that is said of a subscription is kept", withTopics(func(p *publishing) {
		at := time.Unix(1e9, 0).UTC()
		want := []world.Subscription{
			{Name: "p", Pattern: "a.#", Ordered: true, Endpoint: &world.PostTarget{URL: "https://example.com/x", Private: true, GiveUp: time.Hour}, Made: world.Provenance{By: "ann", At: at}},
			{Name: "w", Pattern: "*", Match: []byte(`{"a":[1]}`), Revision: 7, Workflow: &world.StartTarget{Name: "w", Version: 2, Key: "{id}", Attributes: map[string]string{"a": "{topic}"}}},
		}
		for _, s := range want {
			p.must(p.s.Subscribe(p.ctx, s), "subscribe")
		}
		all, err := p.t.Subscriptions(p.ctx)
		p.must(err, "subscriptions")
		p.same(all, want, "subscriptions")
		p.same(p.due(1).Subscriptions, want, "subscriptions beside what is due")
	})},
	{"what was looked at before a change is not written", "a spread that was decided before the subscriptions changed, or before another one, writes nothing", withTopics(func(p *publishing) {
		p.subscribe("s", "a", "q")
		id := p.publish("a:1")[0].ID
		due := p.due(10)
		s := world.Spread{Revision: due.Revision, Done: []string{id}, Messages: []world.Message{due.Publications[0].Message("q", "")}}
		p.subscribe("t", "b", "q") // it spreads what is due
		p.writes(false, s, "with an old revision")
		s.Revision = p.due(10).Revision
		p.writes(false, s, "of what was spread")
		second := p.publish("a:2")[0].ID
		s.Done = []string{second, id}
		p.writes(false, s, "of two of which one was spread")
		s.Done = []string{world.PublicationID(time.Now(), 1<<40)}
		p.writes(false, s, "of what is not there")
		late := p.put(world.Publication{Topic: "a", Payload: quoted("late"), Delay: time.Hour})[0].ID
		s.Done = []string{late}
		p.writes(false, s, "of what is not due")
		s.Done, s.Cut = nil, &world.Cut{ID: late}
		p.writes(false, s, "that cuts what is not due")
		p.holds("q", "a:1")
		s.Done, s.Cut = []string{second}, nil
		p.writes(true, s, "of what is due")
		p.holds("q", "a:1", "a:1") // it says so
	})},
	{"a large fan-out is cut", "one publication goes out in parts, to each once, whoever dies in between, and before others", withTopics(func(p *publishing) {
		for i := range 9 {
			p.subscribe(fmt.Sprintf("s%d", i), "big.#", "")
		}
		big := world.Publication{Topic: "big", Payload: quoted(strings.Repeat("x", world.MaxMessage-2))}
		p.put(big)
		p.publish("big.after")
		parts := 0
		for ; ; parts++ { // each time as another process would
			due := p.due(10)
			if len(due.Publications) == 0 {
				break
			}
			if parts > 0 && due.Cut != nil && due.Cut.ID != due.Publications[0].ID {
				p.Fatalf("what is cut is not the first: %+v", due.Cut)
			}
			if due.Cut != nil {
				p.writes(false, world.Spread{Revision: due.Revision, Done: []string{due.Publications[1].ID}}, "that goes on with another")
			}
			old := due
			one := spread.Spreader{Topics: once{p.t, new(int)}, Queues: p.k}
			if _, err := one.All(p.ctx); err != errOnce {
				p.Fatalf("spread once: %v", err)
			}
			if old.Cut != nil || p.due(1).Cut != nil {
				p.writes(false, world.Spread{Revision: old.Revision, Done: []string{old.Publications[0].ID}}, "from where it was")
			}
		}
		if parts < 3 {
			p.Errorf("it went out in %d parts", parts)
		}
		for i := range 9 {
			page, err := p.k.PeekMessages(p.ctx, world.PeekQuery{Queue: own(fmt.Sprintf("s%d", i)), Limit: 10})
			p.must(err, "peek")
			var sizes []int
			for _, m := range page.Messages {
				sizes = append(sizes, len(m.Payload))
			}
			if len(sizes) == 1 && page.Cursor != "" { // a page ends behind so many bytes
				sizes = append(sizes, len(quoted("big.after")))
			}
			p.same(sizes, []int{world.MaxMessage, len(quoted("big.after"))}, "what came")
		}
	})},
	{"subscriptions change while one is cut", "a publication that is cut goes to those who stood before the change", withTopics(func(p *publishing) {
		for i := range 6 {
			p.subscribe(fmt.Sprintf("s%d", i), "#", "")
		}
		p.put(world.Publication{Topic: "big", Payload: quoted(strings.Repeat("x", world.MaxMessage-2))})
		one := spread.Spreader{Topics: once{p.t, new(int)}, Queues: p.k}
		if _, err := one.All(p.ctx); err != errOnce {
			p.Fatal(err)
		}
		p.must(p.s.Unsubscribe(p.ctx, "s5"), "unsubscribe")
		p.subscribe("s6", "#", "")
		p.spread()
		for i, want := range []int{1, 1, 1, 1, 1, -1, 0} {
			if want < 0 {
				continue
			}
			s, err := p.k.Queues(p.ctx, own(fmt.Sprintf("s%d", i)))
			p.must(err, "queues")
			p.same(s[0].Counts[world.MessageReady], int64(want), fmt.Sprintf("messages of s%d", i))
		}
	})},
	{"one that is set aside stops none", "what cannot be spread goes to nobody, is not due any more, and says why", withTopics(func(p *publishing) {
		p.subscribe("s", "#", "q")
		bad := p.publish("a:bad", "a:good")[0].ID
		p.writes(true, world.Spread{Revision: p.due(1).Revision, Aside: []world.Aside{{ID: bad, Error: "nobody can read it"}}}, "aside")
		p.spread()
		p.holds("q", "a:good")
		page, err := p.t.Publications(p.ctx, world.PublicationQuery{ID: bad})
		p.must(err, "publications")
		if len(page.Publications) != 1 || page.Publications[0].Error != "nobody can read it" || page.Publications[0].Spread {
			p.Errorf("it is shown as %+v", page.Publications)
		}
		p.writes(false, world.Spread{Revision: p.due(1).Revision, Done: []string{bad}}, "of what is aside")
	})},
	{"a queue that is gone gets nothing", "what was decided for it holds up none", withTopics(func(p *publishing) {
		p.publish("a:1")
		due := p.due(1)
		x := &due.Publications[0]
		p.writes(true, world.Spread{Revision: due.Revision, Done: []string{x.ID}, Messages: []world.Message{x.Message("gone", ""), x.Message("q", "")}}, "for a queue that is gone")
		p.holds("q", "a:1")
	})},
	{"mail for runs", "what a spread has for runs is in their inbox; a run that is over gets nothing, and holds up none", withTopics(func(p *publishing) {
		k := p.worker("greet")
		s, over := k.create("greet"), k.create("greet")
		over.end()
		id := p.publish("a:1")[0].ID
		p.writes(true, world.Spread{Revision: p.due(1).Revision, Done: []string{id}, Mail: []world.Delivery{*signal(over.run, "", "a"), *signal(s.run, "", "a"), *signal(newRun(), "", "a")}}, "with mail")
		p.same(len(s.mail()), 1, "mail")
	})},
	{"pages of publications", "what was published is listed, the newest first, by topic and by ID, under a cursor", withTopics(func(p *publishing) {
		var want []string
		for i := range 5 {
			sent := p.publish(fmt.Sprintf("a.%d", i), "b")
			want = append(want, sent[0].ID)
		}
		slices.Reverse(want)
		var got []string
		for q := (world.PublicationQuery{Topic: "a.*", Limit: 2}); ; {
			page, err := p.t.Publications(p.ctx, q)
			p.must(err, "publications")
			for _, x := range page.Publications {
				got = append(got, x.ID)
			}
			if q.Cursor = page.Cursor; q.Cursor == "" {
				break
			}
		}
		p.same(got, want, "what is listed")
		page, err := p.t.Publications(p.ctx, world.PublicationQuery{ID: want[2]})
		p.must(err, "publications")
		if len(page.Publications) != 1 || string(page.Publications[0].Payload) != `"a.2"` || page.Publications[0].Spread {
			p.Errorf("by ID: %+v", page.Publications)
		}
		n, _ := world.PublicationNumber(want[2])
		page, err = p.t.Publications(p.ctx, world.PublicationQuery{ID: world.PublicationID(time.Unix(1, 0), n)})
		p.must(err, "publications")
		p.same(len(page.Publications), 0, "by an ID that nobody has")
	})},
	{"publications of some topics since a time", "a list of what was published to topics that one of some patterns fits, since a time, has those, and ends there", withTopics(func(p *publishing) {
		p.publish("a.b:early")
		early, err := p.t.Publications(p.ctx, world.PublicationQuery{})
		p.must(err, "publications")
		p.until("time to pass", func() bool { return world.Now().After(early.Publications[0].At.Add(time.Millisecond)) })
		for range 130 {
			p.publish("a_b:x", "axb:x", "other:x")
		}
		p.publish("a:a", "a.b:ab", "a.b.c:abc", "z.b:zb", "a_b:y")
		for range 130 {
			p.publish("A.b:x", "other.a:x", "aa.b:x")
		}
		since := early.Publications[0].At.Add(time.Millisecond)
		for _, c := range []struct {
			q    world.PublicationQuery
			want string
		}{
			{world.PublicationQuery{Any: []string{"a.b"}}, "ab early"},
			{world.PublicationQuery{Any: []string{"a.b"}, Since: since}, "ab"},
			{world.PublicationQuery{Any: []string{"a.*", "z.b"}, Since: since}, "zb ab"},
			{world.PublicationQuery{Any: []string{"a.#"}, Since: since}, "abc ab a"},
			{world.PublicationQuery{Any: []string{"a.#"}, Topic: "*.b"}, "ab early"},
			{world.PublicationQuery{Any: []string{"*.b.c", "nobody"}}, "abc"},
			{world.PublicationQuery{Any: append(slices.Repeat([]string{"nobody.x"}, 50), "a"), Since: since}, "a"},
			{world.PublicationQuery{Any: []string{"nobody"}}, ""},
			{world.PublicationQuery{Any: []string{"a"}, Since: world.Now().Add(time.Hour)}, ""},
		} {
			for _, limit := range []int{1, 0} {
				var got []string
				for q, pages := c.q, 0; pages == 0 || q.Cursor != ""; pages++ {
					q.Limit = limit
					page, err := p.t.Publications(p.ctx, q)
					p.must(err, "publications")
					for _, x := range page.Publications {
						_, text, _ := strings.Cut(textOf(world.Message{Payload: x.Payload}), ":")
						got = append(got, text)
					}
					if q.Cursor = page.Cursor; pages > 1_000 {
						p.Fatalf("a list without an end: %+v", c.q)
					}
				}
				p.same(strings.Join(got, " "), c.want, fmt.Sprintf("of %q behind %q since %v", c.q.Any, c.q.Topic, c.q.Since))
			}
		}
		page, err := p.t.Publications(p.ctx, world.PublicationQuery{Topic: "a_b", Limit: 2})
		p.must(err, "publications")
		p.same(textOf(world.Message{Payload: page.Publications[0].Payload}), "a_b:y", "the newest under a name with _")
		p.same(page.Publications[1].Topic, "a_b", "the next one")
		_, err = p.t.Publications(p.ctx, world.PublicationQuery{Any: []string{"a b"}})
		p.refused(err, world.ErrInvalid, "a bad pattern")
	})},
	{"bad publications are refused", "bad input gets a clear error and changes nothing; of several none is published", withTopics(func(p *publishing) {
		good := world.Publication{Topic: "a", Payload: []byte(`1`)}
		for what, bad := range map[string]world.Publication{
			"no topic": {Payload: []byte(`1`)}, "a pattern": {Topic: "a.*", Payload: []byte(`1`)}, "an empty word": {Topic: "a..b", Payload: []byte(`1`)},
			"many words": {Topic: strings.Repeat("a.", world.MaxTopicWords) + "a", Payload: []byte(`1`)}, "a long topic": {Topic: strings.Repeat("a", world.MaxTopic+1), Payload: []byte(`1`)},
			"no JSON": {Topic: "a", Payload: []byte(`{`)}, "a delay below 0": {Topic: "a", Payload: []byte(`1`), Delay: -1}, "a delay of years": {Topic: "a", Payload: []byte(`1`), Delay: 2 * world.MaxDelay},
			"a source with controls": {Topic: "a", Payload: []byte(`1`), Source: "\n"}, "a delivery ID with controls": {Topic: "a", Payload: []byte(`1`), Dedupe: "\n"},
		} {
			_, err := p.t.Publish(p.ctx, []world.Publication{good, bad})
			p.refused(err, world.ErrInvalid, what)
		}
		_, err := p.t.Publish(p.ctx, []world.Publication{good, {Topic: "a", Payload: quoted(strings.Repeat("x", world.MaxMessage))}})
		p.refused(err, world.ErrTooLarge, "a large payload")
		_, err = p.t.Publish(p.ctx, []world.Publication{good, {Topic: "a", Payload: []byte(`1`), Headers: map[string]string{"h": strings.Repeat("x", world.MaxHeaders-100)}}})
		p.refused(err, world.ErrTooLarge, "headers that leave no room")
		_, err = p.t.Publish(p.ctx, []world.Publication{{Topic: "a", Payload: []byte(`1`), Dedupe: "d"}, {Topic: "a", Payload: []byte(`1`), Dedupe: "d"}})
		p.refused(err, world.ErrInvalid, "one delivery ID twice at once")
		_, err = p.t.Publish(p.ctx, nil)
		p.refused(err, world.ErrInvalid, "nothing")
		p.same(len(p.due(10).Publications), 0, "publications")
		for what, bad := range map[string]world.Subscription{
			"no pattern": {Name: "s", Queue: "q"}, "no target": {Name: "s", Pattern: "a"}, "a bad word": {Name: "s", Pattern: "a*", Queue: "q"}, "no name": {Pattern: "a", Queue: "q"},
			"who made it":    {Name: "s", Pattern: "a", Queue: "q", Made: world.Provenance{By: strings.Repeat("x", world.MaxBy+1)}},
			"a long match":   {Name: "s", Pattern: "a", Queue: "q", Match: quoted(strings.Repeat("x", world.MaxMatch))},
			"a long address": {Name: "s", Pattern: "a", Endpoint: &world.PostTarget{URL: "http://x/" + strings.Repeat("x", world.MaxEndpoint)}},
			"a match":        {Name: "s", Pattern: "a", Queue: "q", Match: []byte(`{`)}, "a revision": {Name: "s", Pattern: "a", Queue: "q", Revision: -1},
			"an endpoint": {Name: "s", Pattern: "a", Endpoint: &world.PostTarget{URL: "ftp://x"}}, "two": {Name: "s", Pattern: "a", Queue: "q", Endpoint: &world.PostTarget{URL: "http://x"}},
		} {
			p.refused(p.s.Subscribe(p.ctx, bad), world.ErrInvalid, what)
			_, err := p.t.Spread(p.ctx, world.Spread{Revision: p.due(1).Revision, Subscribe: &bad})
			p.refused(err, world.ErrInvalid, what)
		}
		p.same(len(p.due(1).Subscriptions), 0, "subscriptions")
		for _, n := range []int{0, world.MaxBatch + 1} {
			_, err := p.t.Due(p.ctx, world.DueQuery{Limit: n})
			p.refused(err, world.ErrInvalid, "a limit")
		}
		for _, place := range []string{"x", "1", "1/x", "-1/1"} {
			_, err := p.t.Due(p.ctx, world.DueQuery{After: place, Limit: 1})
			p.refused(err, world.ErrInvalid, "the place "+place)
		}
		for what, s := range map[string]world.Spread{"no ID": {Done: []string{"x"}}, "an ID twice": {Done: []string{world.PublicationID(time.Now(), 1), world.PublicationID(time.Now(), 1)}}, "an act": {Mail: []world.Delivery{*act(newRun(), "", world.RunPaused)}}} {
			_, err := p.t.Spread(p.ctx, s)
			p.refused(err, world.ErrInvalid, what)
		}
		for what, q := range map[string]world.PublicationQuery{"a limit": {Limit: 1001}, "a pattern": {Topic: "a b"}, "an ID": {ID: "x"}, "a cursor": {Cursor: "x"}} {
			_, err := p.t.Publications(p.ctx, q)
			p.refused(err, world.ErrInvalid, what)
		}
	})},
	{"what cannot be read holds up nothing", "what is encrypted with a key that is not here stays due, however much it is, and what is behind it goes out", withTopics(func(p *publishing) {
		p.subscribe("all", "#", "q")
		foreign := make([]world.Publication, world.MaxBatch)
		for i := range foreign {
			foreign[i] = world.Publication{Topic: "a", Payload: quoted("hidden"), Encrypted: "other"}
		}
		lies := world.Stored(p.w).Topics() // an encrypting world has its own key
		for _, part := range [][]world.Publication{foreign, foreign[:20]} {
			_, err := lies.Publish(p.ctx, part)
			p.must(err, "publish with another key")
		}
		p.publish("a:1")
		p.put(world.Publication{Topic: "a", Payload: quoted("2"), Delay: time.Millisecond})
		p.until("what is behind them to go out", func() bool {
			_, err := p.s.All(p.ctx)
			p.must(err, "spread")
			page, err := p.k.PeekMessages(p.ctx, world.PeekQuery{Queue: "q"})
			p.must(err, "peek")
			return len(page.Messages) == 2
		})
		p.holds("q", "a:1", "2")
		n := 0
		for q := (world.DueQuery{Limit: 300}); ; {
			due, err := p.t.Due(p.ctx, q)
			p.must(err, "what is due")
			if n += len(due.Publications); !due.More {
				break
			}
			q.After = due.Last
		}
		p.same(n, world.MaxBatch+20, "what is due yet")
		p.subscribe("late", "#", "") // who subscribes does not wait for them either
		p.publish("a:3")
		_, err := p.s.All(p.ctx)
		p.must(err, "spread")
		p.holds(own("late"), "a:3")
		p.must(p.s.Unsubscribe(p.ctx, "late"), "unsubscribe")
	})},
	{"what is half spread and cannot be read is left", "others go out, and it goes on where it was when somebody has its key", withTopics(func(p *publishing) {
		p.subscribe("a", "#", "q")
		p.subscribe("b", "#", "q")
		lies := world.Stored(p.w).Topics()
		sent, err := lies.Publish(p.ctx, []world.Publication{{Topic: "t", Payload: quoted("hidden"), Encrypted: "other"}})
		p.must(err, "publish with another key")
		cut := world.Cut{ID: sent[0].ID, Subscription: "a"}
		p.writes(true, world.Spread{Revision: p.due(10).Revision, Cut: &cut}, "one is cut")
		p.publish("t:1")
		first := p.due(10)
		p.same(first.Publications[0].ID, cut.ID, "what goes on first")
		p.writes(false, world.Spread{Revision: first.Revision, Done: []string{first.Publications[1].ID}}, "another before it")
		_, err = p.s.All(p.ctx)
		p.must(err, "spread")
		p.holds("q", "t:1", "t:1")
		left := p.due(10)
		p.same(left.Cut, &world.Cut{Left: []world.Cut{cut}}, "what is left")
		p.writes(true, world.Spread{Revision: left.Revision, Cut: &cut}, "it goes on")
		p.same(p.due(10).Cut, &cut, "what is cut again")
		p.writes(true, world.Spread{Revision: p.due(10).Revision, Done: []string{cut.ID}}, "it is done")
		p.same(p.due(10).Cut, (*world.Cut)(nil), "what is cut at the end")
	})},
	{"who spreads is told", "notices tell what is published", withTopics(func(p *publishing) {
		p.subscribe("s", "#", "q")
		p.listen(func(n *news) {
			p.publish("a")
			p.until("it is told", func() bool { return n.told(world.NoticeTopic, "") })
			p.spread()
			p.until("the queue is told", func() bool { return n.told(world.NoticeMessage, "q") })
		})
	})},
	{"many publish and spread at once", "each publication goes once to each subscription that stood when it was published, in order of its source, however many spread and whoever dies, while others come and go", withTopics(func(p *publishing) {
		const publishers, each, spreaders = 4, 25, 3
		p.subscribe("always", "t.#", "")
		p.subscribe("odd", "t.1", "q")
		var pub, all sync.WaitGroup
		ctx, end := context.WithCancel(p.ctx)
		for n := range publishers {
			pub.Go(func() {
				for i := range each {
					text := fmt.Sprintf("%d/%d", n, i)
					if _, err := p.t.Publish(p.ctx, []world.Publication{{Topic: fmt.Sprintf("t.%d", i%2), Payload: quoted(text), Source: "s"}}); err != nil {
						p.Errorf("publish: %v", err)
					}
				}
			})
		}
		for n := range spreaders {
			all.Go(func() {
				for i := 0; ctx.Err() == nil; i++ {
					dying, die := context.WithCancel(ctx)
					if (i+n)%3 == 0 {
						time.AfterFunc(time.Duration(i%7)*time.Millisecond, die)
					}
					_, err := p.s.All(dying)
					if err != nil && dying.Err() == nil {
						p.Errorf("spread: %v", err)
					}
					die()
				}
			})
		}
		all.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				if err := p.s.Subscribe(p.ctx, world.Subscription{Name: "comes", Pattern: "t.0", Queue: "q", Match: []byte(`"nothing"`)}); err != nil {
					p.Errorf("subscribe: %v", err)
				}
				if err := p.s.Unsubscribe(p.ctx, "comes"); err != nil {
					p.Errorf("unsubscribe: %v", err)
				}
			}
		})
		pub.Wait()
		end()
		all.Wait()
		p.spread()
		for queue, want := range map[string]int{own("always"): publishers * each, "q": publishers * (each / 2)} {
			page, err := p.k.PeekMessages(p.ctx, world.PeekQuery{Queue: queue, Limit: 1000})
			p.must(err, "peek")
			last := make(map[string]int)
			for _, text := range textsOf(page.Messages) {
				var n, i int
				_, _ = fmt.Sscanf(text, "%d/%d", &n, &i)
				if of := fmt.Sprint(n, i%2); last[of] > i {
					p.Errorf("queue %s: %s came behind %d", queue, text, last[of]-1)
				} else {
					last[of] = i + 1
				}
			}
			texts := textsOf(page.Messages)
			slices.Sort(texts)
			p.same(len(slices.Compact(texts)), len(page.Messages), "different messages of queue "+queue)
			p.same(len(page.Messages), want, "messages of queue "+queue)
		}
	})},
}

// once is a Publisher whose second look is refused, as by a process that dies.
type once struct {
	world.Publisher
	looks *int
}

var errOnce = fmt.Errorf("it has died")

// Due looks once.
func (o once) Due(ctx context.Context, q world.DueQuery) (world.Due, error) {
	if *o.looks++; *o.looks > 1 {
		return world.Due{}, errOnce
	}
	return o.Publisher.Due(ctx, q)
}
