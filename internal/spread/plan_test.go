package spread

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stepwell/stepwell/world"
)

func published(n int64, topic, payload string) world.Publication {
	at := time.Unix(1e9, 0).UTC()
	return world.Publication{ID: world.PublicationID(at, n), Topic: topic, Payload: []byte(payload), At: at, Due: at}
}

func many(n int) (all []world.Subscription) {
	for i := range n {
		all = append(all, world.Subscription{Name: fmt.Sprintf("s%05d", i), Pattern: "#", Queue: fmt.Sprintf("q%05d", i)})
	}
	return all
}

// crowd are n waits for whatever is published.
type crowd struct {
	world.Publisher
	n int
}

func (c crowd) Shapes(context.Context) ([]world.Shape, error) {
	if c.n == 0 {
		return nil, nil
	}
	return []world.Shape{{Pattern: "#", Sum: world.SumOpen}}, nil
}

func (c crowd) Listeners(_ context.Context, q world.ListenerQuery) (out []world.Listener, err error) {
	for i := range c.n {
		if place := fmt.Sprintf("w%05d", i); place > q.After && len(out) < q.Limit {
			out = append(out, world.Listener{Place: place, Run: place, Wait: "wait_1"})
		}
	}
	return out, nil
}

func waiting(n int) *listening { return &listening{topics: crowd{n: n}} }

// Whatever is due, and however large, the plans that follow each other give each publication to each subscription and
// wait once, in order, and none is too large.
func TestPlansFollow(t *testing.T) {
	t.Parallel()
	big := `"` + strings.Repeat("x", world.MaxMessage-2) + `"`
	for name, c := range map[string]struct {
		subscriptions, waits, publications int
		payload                            string
	}{
		"nobody": {0, 0, 3, "1"}, "few": {2, 3, 5, "1"}, "exactly full": {world.MaxBatch, 0, 2, "1"}, "exactly full of waits": {0, world.MaxBatch, 2, "1"},
		"half and half": {500, 500, 3, "1"}, "many": {2_500, 1_700, 3, "1"}, "large": {7, 6, 3, big}, "waits behind a cut": {999, 5, 2, "1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			due := world.Due{Subscriptions: many(c.subscriptions)}
			slices.Reverse(due.Subscriptions) // it does not matter
			for i := range c.publications {
				due.Publications = append(due.Publications, published(int64(i+1), "a", c.payload))
			}
			got := make(map[string][]string) // by who gets it
			for plans := 0; len(due.Publications) > 0; plans++ {
				p, all, err := decide(t.Context(), &due, waiting(c.waits))
				if err != nil || plans > 100 {
					t.Fatalf("plan %d: %v", plans, err)
				}
				if err := world.CheckSpread(&p.Spread); err != nil {
					t.Fatal(err)
				}
				if p.empty() || all != (len(p.Done) == len(due.Publications)) {
					t.Fatalf("plan %d: %d of %d are done, cut %+v; all: %t", plans, len(p.Done), len(due.Publications), p.Cut, all)
				}
				for _, m := range p.Messages {
					got[m.Queue] = append(got[m.Queue], m.Headers[world.HeaderPublication])
				}
				for i := range p.Mail {
					got[p.Mail[i].Run] = append(got[p.Mail[i].Run], "")
				}
				due.Publications, due.Cut = due.Publications[len(p.Done):], p.Cut
			}
			if len(got) != c.subscriptions+c.waits {
				t.Errorf("%d get something, want %d", len(got), c.subscriptions+c.waits)
			}
			for who, ids := range got {
				if len(ids) != c.publications || !slices.IsSorted(ids) || ids[0] != "" && len(slices.Compact(ids)) != c.publications {
					t.Fatalf("%s gets %q", who, ids)
				}
			}
		})
	}
}

// One that is damaged is set aside, and one whose key is not here stays for another process, half spread or not; the
// others go out.
func TestPlanOfWhatCannotBeRead(t *testing.T) {
	t.Parallel()
	due := world.Due{Subscriptions: many(1)}
	due.Publications = []world.Publication{published(1, "a", `1`), published(2, "a", `2`), published(3, "a", `3`)}
	due.Publications[0].Damage = "a bit is wrong"
	due.Publications[1].Encrypted = "key"
	p, all, err := decide(t.Context(), &due, waiting(0))
	if err != nil || !all || p.unread != 1 || len(p.Aside) != 1 || p.Aside[0].Error != "a bit is wrong" || len(p.Done) != 1 || len(p.Messages) != 1 {
		t.Fatalf("got %+v, all %t, %v", p.Spread, all, err)
	}
	due.Publications = due.Publications[1:]
	due.Cut = &world.Cut{ID: due.Publications[0].ID}
	if p, all, err = decide(t.Context(), &due, waiting(0)); err != nil || !all || len(p.Done) != 1 || len(p.Cut.Left) != 1 || p.Cut.Open() || p.empty() {
		t.Fatalf("behind a cut that cannot be read: got %+v, all %t, %v", p.Spread, all, err)
	}
	due.Publications[0].Damage, due.Publications[0].Encrypted = "gone", "key"
	if p, all, err = decide(t.Context(), &due, waiting(0)); err != nil || !all || len(p.Aside) != 1 || len(p.Done) != 1 {
		t.Fatalf("behind a cut that is damaged: got %+v, all %t, %v", p.Spread, all, err)
	}
}

// Whatever is cut and left goes on where it was, when somebody has its key, and nothing goes out twice.
func TestPlansGoOnWithWhatWasLeft(t *testing.T) {
	t.Parallel()
	const n = 2_500 // each publication is cut twice
	due := world.Due{Subscriptions: many(n)}
	for i := range 3 {
		due.Publications = append(due.Publications, published(int64(i+1), "a", "1"))
	}
	got := make(map[string]int)
	follow := func(hidden ...int) *plan {
		t.Helper()
		page := due
		page.Publications = slices.Clone(due.Publications)
		for _, i := range hidden {
			page.Publications[i].Encrypted = "key"
		}
		if due.Cut.Open() { // it comes first
			i := slices.IndexFunc(page.Publications, func(x world.Publication) bool { return x.ID == due.Cut.ID })
			first := page.Publications[i]
			page.Publications = slices.Insert(slices.Delete(page.Publications, i, i+1), 0, first)
		}
		p, _, err := decide(t.Context(), &page, waiting(0))
		if err == nil {
			err = world.CheckSpread(&p.Spread)
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range p.Messages {
			got[m.Queue+m.Headers[world.HeaderPublication]]++
		}
		due.Cut = p.Cut
		due.Publications = slices.DeleteFunc(due.Publications, func(x world.Publication) bool { return slices.Contains(p.Done, x.ID) })
		return p
	}
	follow()     // the first one is cut
	follow(0)    // its key is not here: the second one is
	follow(0, 1) // nor that of the second: the third one is
	if len(due.Cut.Left) != 2 || due.Cut.ID != due.Publications[2].ID {
		t.Fatalf("cut: %+v", due.Cut)
	}
	for len(due.Publications) > 2 {
		if follow(0, 1).empty() {
			t.Fatal("the third one does not go out")
		}
	}
	if p := follow(0, 1); !p.empty() || len(due.Cut.Left) != 2 {
		t.Fatalf("nothing can be read: %+v", p.Spread)
	}
	for plans := 0; len(due.Publications) > 0; plans++ {
		if follow(); plans > 20 {
			t.Fatalf("not done: %+v", due.Cut)
		}
	}
	for to, times := range got {
		if times != 1 {
			t.Fatalf("%s got it %d times", to, times)
		}
	}
	if len(got) != 3*n || due.Cut != nil {
		t.Errorf("%d messages, want %d; cut: %+v", len(got), 3*n, due.Cut)
	}
}

// One that no store would spread is set aside, and the others go out.
func TestOneThatIsRefusedIsSetAside(t *testing.T) {
	t.Parallel()
	s := &Spreader{Topics: crowd{}}
	for place := range 3 {
		due := world.Due{Subscriptions: many(2)}
		for i := range 3 {
			due.Publications = append(due.Publications, published(int64(i+1), "a", `1`))
		}
		bad := &due.Publications[place]
		bad.Payload = []byte(`{`)
		aside, done := "", 0
		for len(due.Publications) > 0 {
			p, _, err := s.decide(t.Context(), &due)
			if err != nil || p.empty() {
				t.Fatalf("place %d: %+v, %v", place, p, err)
			}
			for _, a := range p.Aside {
				aside = a.ID
			}
			done += len(p.Done)
			due.Publications = slices.DeleteFunc(due.Publications, func(x world.Publication) bool { return slices.Contains(p.Done, x.ID) || x.ID == aside })
		}
		if done != 2 || aside != world.PublicationID(time.Unix(1e9, 0), int64(place+1)) {
			t.Errorf("place %d: %d are done, %s is aside", place, done, aside)
		}
	}
}

// A subscription whose row is damaged gets nothing.
func TestDamagedSubscription(t *testing.T) {
	t.Parallel()
	due := world.Due{Subscriptions: many(2), Publications: []world.Publication{published(1, "a", `1`)}}
	due.Subscriptions[0] = world.Subscription{Name: "s00000", Pattern: "#", Queue: "q", Damage: "a bit is wrong"}
	p, all, err := decide(t.Context(), &due, waiting(0))
	if err != nil || !all || len(p.Messages) != 1 || p.Messages[0].Queue != "q00001" {
		t.Fatalf("got %+v, all %t, %v", p.Spread, all, err)
	}
}
