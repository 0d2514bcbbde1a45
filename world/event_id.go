package world

// The IDs of events: they are derived, not stored.

import (
	"encoding/binary"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/oklog/ulid/v2"
)

// NamedEvent is an event with its ID, for people and other programs.
type NamedEvent struct {
	EventID string `json:"eventId"` // see [EventID]
	Event
}

// NameEvents adds IDs to events of a run.
func NameEvents(run string, events []Event) []NamedEvent {
	out := make([]NamedEvent, len(events))
	for i := range events {
		out[i] = NamedEvent{EventID(run, events[i].Seq, events[i].Time), events[i]}
	}
	return out
}

// ParseEvent returns the number of a run's event from text: the number itself, or the event's ID.
// Other text, and IDs of another run's events, are [ErrInvalid].
func ParseEvent(run, text string) (int64, error) {
	if n, err := strconv.ParseInt(text, 10, 64); err == nil && n >= 0 {
		return n, nil
	}
	rest, ok := strings.CutPrefix(text, PrefixEvent+"_")
	id, err := ulid.ParseStrict(rest)
	if !ok || err != nil {
		return 0, fmt.Errorf("%w: event %s: want its number, or its ID, which begins with %s_", ErrInvalid, show(text), PrefixEvent)
	}
	n := binary.BigEndian.Uint64(append([]byte{0, 0}, id[10:]...))
	own, err := ulid.ParseStrict(strings.TrimPrefix(EventID(run, int64(n&math.MaxInt64), Now()), PrefixEvent+"_"))
	if err != nil || [10]byte(own[6:]) != [10]byte(id[6:]) || n == 0 {
		return 0, fmt.Errorf("%w: %s is not an event of run %s", ErrInvalid, show(text), run)
	}
	return int64(n), nil
}
