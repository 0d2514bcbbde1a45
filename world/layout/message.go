package layout

import (
	"encoding/json"
	"fmt"

	"github.com/stepwell/stepwell/world"
)

// messageHead is what a row has of a message beside its payload.
type messageHead struct {
	Headers   map[string]string `json:"h,omitempty"`
	Encrypted string            `json:"e,omitempty"`
}

// MessageHead returns the stored form of a message's headers.
func MessageHead(m *world.Message) string {
	b, err := json.Marshal(messageHead{m.Headers, m.Encrypted})
	if err != nil { // text does not fail
		return "{}"
	}
	return string(b)
}

// MessageSum returns the checksum of the immutable part of a message.
func MessageSum(queue, group, head string, payload []byte) Sum {
	return summing(0).text(queue).text(group).text(head).bytes(payload).sum()
}

// ReadMessage fills in a message from its row, except queue and group. Invalid data is reported in
// the message's Damage.
func ReadMessage(m *world.Message, head string, payload []byte, sum Sum) {
	var h messageHead
	err := json.Unmarshal([]byte(head), &h)
	if err == nil && !sum.Is(MessageSum(m.Queue, m.Group, head, payload)) {
		err = errSum
	}
	if err != nil {
		m.Damage = fmt.Sprintf("message %s: %v", m.ID, err)
		return
	}
	m.Headers, m.Encrypted, m.Payload = h.Headers, h.Encrypted, payload
}
