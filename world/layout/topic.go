package layout

import (
	"encoding/json"
	"fmt"

	"github.com/stepwell/stepwell/world"
)

// PublicationRow is how the headers of a publication are kept, and the checksum of what never changes of it.
func PublicationRow(p *world.Publication) (head string, sum Sum) {
	head = MessageHead(&world.Message{Headers: p.Headers, Encrypted: p.Encrypted})
	return head, MessageSum(p.Topic, p.Source, head, p.Payload)
}

// ReadPublication fills in what a row has of a publication whose topic and source are known. What cannot be right is
// told with it.
func ReadPublication(p *world.Publication, head string, payload []byte, sum Sum) {
	m := world.Message{ID: p.ID, Queue: p.Topic, Group: p.Source}
	ReadMessage(&m, head, payload, sum)
	if m.Damage != "" {
		p.Damage = "publication" + m.Damage[len("message"):]
	}
	p.Headers, p.Encrypted, p.Payload = m.Headers, m.Encrypted, m.Payload
}

// SubscriptionRow is how a subscription is kept, and its checksum.
func SubscriptionRow(s *world.Subscription) (said string, sum Sum, err error) {
	b, err := json.Marshal(s)
	return string(b), subscriptionSum(s.Name, string(b)), err
}

func subscriptionSum(name, said string) Sum { return summing(0).text(name).text(said).sum() }

// ReadSubscription reads the row of a subscription. What cannot be right is told with it: it gets nothing.
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

// CutText is how a cut is kept.
func CutText(c *world.Cut) (string, error) {
	b, err := json.Marshal(c)
	return string(b), err
}

// ReadCut reads a cut. One that is damaged is none: its publication goes out anew.
func ReadCut(text string) *world.Cut {
	c := new(world.Cut)
	if json.Unmarshal([]byte(text), c) != nil || !c.Open() && c.Others() == nil {
		return nil
	}
	return c
}
