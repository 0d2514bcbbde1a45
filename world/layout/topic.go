package layout

import (
	"encoding/json"
	"fmt"

	"github.com/stepwell/stepwell/world"
)

// PublicationRow returns the stored form of a publication's headers, and the checksum of its
// immutable part.
func PublicationRow(p *world.Publication) (head string, sum Sum) {
	head = MessageHead(&world.Message{Headers: p.Headers, Encrypted: p.Encrypted})
	return head, MessageSum(p.Topic, p.Source, head, p.Payload)
}

// ReadPublication fills in a publication from its row, except topic and source. Invalid data is
// reported in its Damage.
func ReadPublication(p *world.Publication, head string, payload []byte, sum Sum) {
	m := world.Message{ID: p.ID, Queue: p.Topic, Group: p.Source}
	ReadMessage(&m, head, payload, sum)
	if m.Damage != "" {
		p.Damage = "publication" + m.Damage[len("message"):]
	}
	p.Headers, p.Encrypted, p.Payload = m.Headers, m.Encrypted, m.Payload
}

// SubscriptionRow returns the stored form of a subscription, and its checksum.
func SubscriptionRow(s *world.Subscription) (said string, sum Sum, err error) {
	b, err := json.Marshal(s)
	return string(b), subscriptionSum(s.Name, string(b)), err
}

func subscriptionSum(name, said string) Sum { return summing(0).text(name).text(said).sum() }

// ReadSubscription parses the row of a subscription. Invalid data is reported in its Damage; it
// then gets nothing.
func ReadSubscription(name, said string, sum Sum) (s world.Subscription) {
	err := json.Unmarshal([]byte(said), &s)
	if err == nil && (!sum.Is(subscriptionSum(name, said)) || s.Name != name) {
		err = errSum
	}
	if err != nil {
		s = world.Subscription{Name: name, Damage: fmt.Sprintf("subscription %s: %v", name, err)}
	}
	return s
}

// CutText returns the stored form of a cut.
func CutText(c *world.Cut) (string, error) {
	b, err := json.Marshal(c)
	return string(b), err
}

// ReadCut parses a cut. A damaged one is nil: its publication is spread again.
func ReadCut(text string) *world.Cut {
	c := new(world.Cut)
	if json.Unmarshal([]byte(text), c) != nil || !c.Open() && c.Others() == nil {
		return nil
	}
	return c
}
