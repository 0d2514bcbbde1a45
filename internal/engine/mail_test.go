package engine

import (
	"fmt"
	"testing"
	"time"

	"github.com/stepwell/stepwell/world"
)

// A world tells of mail at every heartbeat until it is appended. A session that is busy for a while, as with the births of many children, is told again and again of
// all that came meanwhile: it keeps each once, and nothing else of what came with it.
func TestMailThatIsToldAgainIsKeptOnce(t *testing.T) {
	e, err := New(Config{World: world.Unimplemented{}})
	if err != nil {
		t.Fatal(err)
	}
	const n, heartbeats = 1000, 20
	s := newSession(e, title{run: "parent", claim: 1})
	e.holdings.owned[s.own.run] = owner{session: s}
	defer s.leave()
	heartbeat := func() (b world.Heartbeat) { // as a world reads it: anew each time
		for i := range n {
			b.Mail = append(b.Mail, world.Mail{Row: int64(i), Run: s.own.run, ID: fmt.Sprint(i), ArrivedAt: time.Unix(int64(i), 0), Events: make([]world.Event, 1)})
		}
		return b
	}
	for range heartbeats {
		e.holdings.dispatch(heartbeat())
	}
	got := s.box.receive()
	if len(got) != n {
		t.Fatalf("%d messages after %d heartbeats that told of %d deliveries, want each once", len(got), heartbeats, n)
	}
	for i, m := range got {
		if m.mail.Row != int64(i) || !m.at.Equal(m.mail.ArrivedAt) {
			t.Fatalf("message %d is of row %d at %s, want them in order", i, m.mail.Row, m.at)
		}
	}
	e.holdings.dispatch(heartbeat()) // a heartbeat that was asked for before they were appended
	if again := s.box.receive(); len(again) > 0 {
		t.Errorf("%d messages of what was handled, want none", len(again))
	}
}
