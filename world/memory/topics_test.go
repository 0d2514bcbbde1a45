package memory

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stepwell/stepwell/world"
)

// What was published is kept for a day behind the time when it goes out, and its delivery ID with it.
func TestPublicationsAreKeptForADay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := New()
		topics := w.Topics()
		p := []world.Publication{{Topic: "a", Payload: []byte(`1`), Dedupe: "d"}, {Topic: "a", Payload: []byte(`2`), Delay: 2 * time.Hour}, {Topic: "a", Payload: []byte(`3`), Delay: 48 * time.Hour}}
		sent, err := topics.Publish(t.Context(), p)
		if err != nil {
			t.Fatal(err)
		}
		spread := func(all ...world.Sent) {
			t.Helper()
			for _, s := range all {
				if done, err := topics.Spread(t.Context(), world.Spread{Done: []string{s.ID}}); err != nil || !done {
					t.Fatalf("spread %s: %t, %v", s.ID, done, err)
				}
			}
		}
		left := func(want int) {
			t.Helper()
			if _, err := w.Sweep(t.Context(), 10); err != nil {
				t.Fatal(err)
			}
			page, err := topics.Publications(t.Context(), world.PublicationQuery{})
			if err != nil || len(page.Publications) != want {
				t.Fatalf("%d publications, %v, want %d", len(page.Publications), err, want)
			}
		}
		spread(sent[0])
		time.Sleep(2 * time.Hour)
		spread(sent[1])
		time.Sleep(22 * time.Hour)
		left(3)
		time.Sleep(time.Millisecond)
		left(2)
		if again, err := topics.Publish(t.Context(), p[:1]); err != nil || again[0].Duplicate {
			t.Fatalf("published again: %+v, %v", again, err)
		}
		time.Sleep(72 * time.Hour) // what is due is kept until it was spread
		left(2)
	})
}
