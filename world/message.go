package world

// This file holds what queues of messages are made of, and what of it can be refused without looking at anything.

import (
	"cmp"
	"encoding/base32"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/oklog/ulid/v2"
)

// PrefixMessage begins the ID of a message.
const PrefixMessage = "mesg"

// Bounds of queues.
const (
	MaxBatch      = 1_000   // messages sent, settled, purged or moved back at once
	MaxReceive    = 100     // messages received at once
	MaxMessage    = 1 << 20 // bytes of a payload
	MaxHeaders    = 8 << 10 // bytes of a message's headers
	MaxDelay      = 365 * 24 * time.Hour
	MinVisibility = time.Second
	MaxVisibility = 12 * time.Hour
	MaxReceives   = 1_000
	MaxWindow     = 7 * 24 * time.Hour // in which a dedupe ID is known
)

// Defaults of a queue.
const (
	DefaultVisibility = 30 * time.Second
	DefaultReceives   = 20
	DefaultWindow     = 5 * time.Minute
)

// MessageQueue is the declaration of a queue.
type MessageQueue struct {
	Name string `json:"name"`
	// Visibility is how long a received message stays hidden from other receivers. 0:
	// [DefaultVisibility].
	Visibility time.Duration `json:"visibility,omitempty"`
	// MaxReceives is how often a message is received before it becomes a dead letter. 0:
	// [DefaultReceives].
	MaxReceives int `json:"maxReceives,omitempty"`
	// Limits apply to messages sent from then on. Nil keeps the declared ones; an empty list ends
	// them.
	Limits []SaidLimit `json:"limits,omitzero"`
}

// QueuePause says who paused a queue, and why.
type QueuePause struct {
	By     string    `json:"by,omitempty"`
	Reason string    `json:"reason,omitempty"`
	Since  time.Time `json:"since,omitzero"`
}

// QueueStats are a queue and its counts, each at most [CountedMessages].
type QueueStats struct {
	MessageQueue
	Paused *QueuePause            `json:"paused,omitempty"`
	Counts map[MessageState]int64 `json:"counts,omitzero"`
	// since when the oldest ready message has been ready; zero: there is none
	Oldest time.Time `json:"oldest,omitzero"`
}

// CountedMessages is the highest count of a queue's messages, for each state.
const CountedMessages = 100_000

// MessageState is the current state of a message.
type MessageState string

// States of a message.
const (
	MessageReady   MessageState = "ready"   // it can be received
	MessageDelayed MessageState = "delayed" // its send had a delay, or it is tried again later
	MessageOut     MessageState = "out"     // it is received, and its visibility has not ended
	// MessageParked: it waits for another message of its group, or in the line of a limit.
	MessageParked MessageState = "parked"
	MessageDead   MessageState = "dead" // a dead letter
)

// Message is one message of a queue.
type Message struct {
	// "mesg_" and a ULID of the send's time and its number
	ID    string `json:"id,omitzero"`
	Queue string `json:"queue"`
	// messages of a group are received one at a time, in order; "": none
	Group string `json:"group,omitzero"`
	// JSON
	Payload json.RawMessage   `json:"payload,omitzero"`
	Headers map[string]string `json:"headers,omitzero"`

	// ID of the key that encrypts the payload; "": plain
	Encrypted string `json:"sealed,omitzero"`
	// 1 to 4; 4 is received first; 0: DefaultPriority; ignored in a group
	Priority int `json:"priority,omitzero"`

	// Fields of a send: Delay is how long the message is hidden. It cannot be combined with a
	// group.
	Delay time.Duration `json:"delay,omitzero"`
	// a message with the same ID within Window is the same; "": none
	Dedupe string `json:"dedupe,omitzero"`
	// 0: DefaultWindow
	Window time.Duration `json:"window,omitzero"`
	// Keys are the keys of the queue's limits, by limit name, if they are not read from the
	// payload. The key of "" is for each limit that has a key neither here nor in the payload. See
	// [MessagePlaces].
	Keys map[string]string `json:"keys,omitzero"`

	// Fields of a received or inspected message: SentAt is the time of its send.
	SentAt time.Time `json:"sentAt,omitzero"`
	// how often it was received, with this time
	Receives int `json:"receives,omitzero"`
	// received: proof of the receive, to settle it
	Receipt string `json:"receipt,omitzero"`
	// received: when it is visible again; inspected: its earliest receive
	Until time.Time `json:"until,omitzero"`
	// inspected only
	State MessageState `json:"state,omitzero"`
	// reason of its last failed receive; "": none
	Error string `json:"error,omitzero"`
	// why its payload is unreadable; "": readable
	Damage string `json:"damage,omitzero"`
}

// DefaultPriority is the priority of a message with priority 0.
const DefaultPriority = 2

// Rank returns the priority as stores keep it, 0 to 3. Messages in a group have the default's.
func (m *Message) Rank() int {
	if m.Group != "" {
		return DefaultPriority - 1
	}
	return cmp.Or(m.Priority, DefaultPriority) - 1
}

// Ranked sets the priority from a stored rank.
func (m *Message) Ranked(rank int) { m.Priority = rank + 1 }

// Sent is the result of a send.
type Sent struct {
	ID string `json:"id"`
	// its dedupe ID was known: ID is that of the earlier message
	Duplicate bool `json:"duplicate,omitzero"`
}

// MessageID returns the ID of the message with a number in its store.
func MessageID(sent time.Time, number int64) string { return numberedID(PrefixMessage, sent, number) }

// MessageNumber returns the number in a message's ID; ok is false for other text.
func MessageNumber(id string) (number int64, ok bool) { return numberIn(PrefixMessage, id) }

func numberedID(prefix string, at time.Time, number int64) string {
	var id ulid.ULID
	_ = id.SetTime(millis(at))
	binary.BigEndian.PutUint64(id[8:], uint64(number))
	return withPrefix(prefix, id)
}

func numberIn(prefix, id string) (number int64, ok bool) {
	rest, found := strings.CutPrefix(id, prefix+"_")
	u, err := ulid.ParseStrict(rest)
	if !found || err != nil {
		return 0, false
	}
	n := binary.BigEndian.Uint64(u[8:])
	return int64(n), n>>63 == 0
}

var receipts = base32.NewEncoding("0123456789abcdefghjkmnpqrstvwxyz").WithPadding(base32.NoPadding)

// Receipt identifies one receive of a message: its number in the store, and how often it was
// received, a count that is never reset.
func Receipt(number, fence int64) string {
	b := binary.AppendUvarint(binary.AppendUvarint(nil, uint64(number)), uint64(fence))
	return "rcpt_" + receipts.EncodeToString(b)
}

// ReadReceipt parses a receipt. The error is [ErrInvalid] for other text.
func ReadReceipt(receipt string) (number, fence int64, err error) {
	rest, found := strings.CutPrefix(receipt, "rcpt_")
	b, err := receipts.DecodeString(rest)
	x, n := binary.Uvarint(b)
	if !found || err != nil || n <= 0 || int64(x) <= 0 {
		return 0, 0, fmt.Errorf("%w: %.60q is not a receipt", ErrInvalid, receipt)
	}
	y, m := binary.Uvarint(b[n:])
	if m <= 0 || n+m != len(b) || int64(y) <= 0 {
		return 0, 0, fmt.Errorf("%w: %.60q is not a receipt", ErrInvalid, receipt)
	}
	return int64(x), int64(y), nil
}

// CheckQueue returns [ErrInvalid] for an invalid declaration.
func CheckQueue(q *MessageQueue) error {
	if err := CheckQueueName(q.Name); err != nil {
		return err
	}
	if v := q.Visibility; v != 0 && (v < MinVisibility || v > MaxVisibility) {
		return fmt.Errorf("%w: queue %s: visibility %s: want %s to %s", ErrInvalid, q.Name, v, MinVisibility, MaxVisibility)
	}
	if n := q.MaxReceives; n < 0 || n > MaxReceives {
		return fmt.Errorf("%w: queue %s: at most %d receives: want 1 to %d", ErrInvalid, q.Name, n, MaxReceives)
	}
	return q.checkLimits()
}

// Or returns the declaration with defaults for zero fields.
func (q MessageQueue) Or() MessageQueue {
	if q.Visibility == 0 {
		q.Visibility = DefaultVisibility
	}
	if q.MaxReceives == 0 {
		q.MaxReceives = DefaultReceives
	}
	return q
}

// CheckQueueName returns [ErrInvalid] for an invalid queue name. The rules are those of workflow
// names.
func CheckQueueName(name string) error {
	if CheckWorkflowName(name) != nil {
		return fmt.Errorf("%w: queue name %.140q: want 1 to 128 of A-Z a-z 0-9 _ . -", ErrInvalid, name)
	}
	return nil
}

// CheckMessages returns [ErrInvalid] or [ErrTooLarge] for messages that no store accepts.
func CheckMessages(all []Message) error {
	if len(all) == 0 || len(all) > MaxBatch {
		return fmt.Errorf("%w: %d messages at once: want 1 to %d", ErrInvalid, len(all), MaxBatch)
	}
	size := 0
	dedupes := make(map[[2]string]bool)
	for i := range all {
		m := &all[i]
		if err := checkMessage(m); err != nil {
			return fmt.Errorf("message %d of queue %.140q: %w", i, m.Queue, err)
		}
		if m.Dedupe != "" {
			if id := [2]string{m.Queue, m.Dedupe}; dedupes[id] {
				return fmt.Errorf("%w: message %d of queue %s: another message of the same call has the dedupe ID %.80q", ErrInvalid, i, m.Queue, m.Dedupe)
			} else {
				dedupes[id] = true
			}
		}
		if size += encryptedBytes(len(m.Payload), m.Encrypted); size > MaxCommit {
			return fmt.Errorf("%w: %d messages of more than %d bytes in one call: send them in parts", ErrTooLarge, len(all), MaxCommit)
		}
	}
	return nil
}

// checkSentMessages refuses messages that no commit can bring, and tells how many bytes they have.
func checkSentMessages(c *Commit) (bytes int, err error) {
	if c.Worker == "" {
		return 0, fmt.Errorf("%w: run %s: a commit by nobody sends messages", ErrInvalid, c.Run)
	}
	for i := range c.Messages {
		m := &c.Messages[i]
		if err = checkMessage(m); err == nil && m.Dedupe != "" {
			err = fmt.Errorf("%w: a message of a commit is sent once, and cannot have a dedupe ID", ErrInvalid)
		}
		if err != nil {
			return bytes, fmt.Errorf("run %s: message %d, for queue %.140q: %w", c.Run, i, m.Queue, err)
		}
		bytes += encryptedBytes(len(m.Payload), m.Encrypted) + len(m.Queue) + len(m.Group)
		for k, v := range m.Headers {
			bytes += len(k) + len(v)
		}
	}
	return bytes, nil
}

func checkMessage(m *Message) error {
	if err := CheckQueueName(m.Queue); err != nil {
		return err
	}
	most := MaxMessage
	if m.Encrypted != "" {
		most = EncryptedSize(MaxMessage)
	}
	switch {
	case m.Priority < 0 || m.Priority > priorities:
		return fmt.Errorf("%w: priority %d: want 1 to 4", ErrInvalid, m.Priority)
	case m.Delay < 0 || m.Delay > MaxDelay:
		return fmt.Errorf("%w: delay %s: want 0 to %s", ErrInvalid, m.Delay, MaxDelay)
	case m.Window < 0 || m.Window > MaxWindow:
		return fmt.Errorf("%w: window %s: want 0 to %s", ErrInvalid, m.Window, MaxWindow)
	case m.Group != "" && m.Delay > 0:
		return fmt.Errorf("%w: group %.80q: a message with a group is received in order, so it cannot have a delay", ErrInvalid, m.Group)
	case m.Encrypted == "" && !json.Valid(m.Payload):
		return fmt.Errorf("%w: the payload is not JSON", ErrInvalid)
	case len(m.Payload) > most:
		return fmt.Errorf("%w: a payload of %d bytes: the most is %d", ErrTooLarge, len(m.Payload), MaxMessage)
	}
	for what, text := range map[string]string{"group": m.Group, "dedupe ID": m.Dedupe} {
		if text != "" {
			if err := CheckName(what, text); err != nil {
				return err
			}
		}
	}
	if err := m.checkKeys(); err != nil {
		return err
	}
	return checkHeaders(m.Headers)
}

func checkHeaders(h map[string]string) error {
	size := 0
	for k, v := range h {
		if err := CheckName("header", k); err != nil {
			return err
		}
		if size += len(k) + len(v); size > MaxHeaders {
			return fmt.Errorf("%w: headers of more than %d bytes", ErrTooLarge, MaxHeaders)
		}
	}
	return nil
}
