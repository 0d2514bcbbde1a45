// What commits publish.

package worldtest

import (
	"time"

	"github.com/stepwell/stepwell/world"
)

// publishes is a commit that publishes texts under a topic, each recorded.
func (s *session) publishes(topic string, texts ...string) *world.Commit {
	var events []world.Event
	var all []world.Publication
	for _, text := range texts {
		e := stepCreated("step_"+text, world.KindPublication)
		e.Name = topic
		events = append(events, e)
		all = append(all, world.Publication{Topic: topic, Payload: quoted(text)})
	}
	c := s.next(events...)
	c.Published = all
	return c
}

var publishedByCommits = []check{
	{"a commit publishes", "every change is one commit", withTopics(func(p *publishing) {
		p.subscribe("all", "#", "q")
		s := p.worker("greet").create("greet")
		s.write(s.publishes("a.b", "1", "2"))
		p.spread()
		p.holds("q", "1", "2")
		late := s.publishes("a.b", "late")
		s.write(s.publishes("a.b", "3"))
		_, err := p.w.Commit(p.ctx, late)
		p.refused(err, world.ErrLeaseLost, "a commit at a number that is taken")
		c := s.publishes("a.b", "last")
		c.Published[0].Headers, c.Published[0].Source = map[string]string{"h": "x"}, "till"
		c.Messages = []world.Message{{Queue: "q", Payload: quoted("sent")}}
		c.Events = append(c.Events, world.Event{Type: world.RunCompleted, Time: world.Now(), Payload: jsonText(`1`)})
		s.write(c)
		p.spread()
		got := p.holds("q", "1", "2", "sent", "3", "last")
		p.same(got[4].Headers["h"], "x", "headers")
		page, err := p.t.Publications(p.ctx, world.PublicationQuery{Limit: 1})
		p.must(err, "publications")
		p.same(page.Publications[0].Source, "till", "the source")
	})},
	{"a commit publishes for later", "a delay counts from the commit", withTopics(func(p *publishing) {
		s := p.worker("greet").create("greet")
		c := s.publishes("a", "later")
		c.Published[0].Delay = time.Hour
		s.write(c)
		due := p.due(10)
		p.same(len(due.Publications), 0, "what is due")
		if in := due.Next.Sub(due.Now); in < 50*time.Minute || in > time.Hour {
			p.Errorf("it is due in %s", in)
		}
	})},
	{"a birth publishes", "every change is one commit", withTopics(func(p *publishing) {
		c := birth("greet")
		c.Worker, c.Claim = p.worker("greet").id, 1
		c.Published = []world.Publication{{Topic: "born", Payload: quoted("1")}}
		p.commit(c)
		due := p.due(10)
		if len(due.Publications) != 1 || due.Publications[0].Topic != "born" {
			p.Errorf("due: %+v", due.Publications)
		}
	})},
	{"publications that no commit brings", "bad input is refused before anything is written", withTopics(func(p *publishing) {
		s := p.worker("greet").create("greet")
		for what, bad := range map[string]world.Publication{
			"delivery ID": {Topic: "a", Payload: quoted("a"), Dedupe: "once"},
			"topic":       {Topic: "not a topic", Payload: quoted("a")},
			"source":      {Topic: "a", Payload: quoted("a"), Source: "\n"},
			"delay":       {Topic: "a", Payload: quoted("a"), Delay: -1},
			"payload":     {Topic: "a", Payload: []byte("{")},
		} {
			c := s.publishes("a", "a")
			c.Published = append(c.Published, bad)
			p.unchanged(s.run, func() {
				_, err := p.w.Commit(p.ctx, c)
				p.refused(err, world.ErrInvalid, what)
			})
		}
		c := birth("greet")
		c.Published = []world.Publication{{Topic: "a", Payload: quoted("a")}}
		_, err := p.w.Commit(p.ctx, c)
		p.refused(err, world.ErrInvalid, "a birth by a client")
		p.same(len(p.due(10).Publications), 0, "what is due")
	})},
	{"who spreads is told of a commit", "notices tell what is published", withTopics(func(p *publishing) {
		s := p.worker("greet").create("greet")
		p.listen(func(n *news) {
			s.write(s.publishes("a", "1"))
			p.until("it is told", func() bool { return n.told(world.NoticeTopic, "") })
		})
	})},
}
