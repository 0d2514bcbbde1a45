package world

// Limits of queues: each receive of a message needs the places that the message was sent with.

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
)

// CheckMessage returns [ErrInvalid] if a queue cannot declare the limit.
func (l *SaidLimit) CheckMessage() error {
	if err := l.Check(); err != nil {
		return err
	}
	return l.fits("queue", "have each message start a workflow that has the limit, with queue.StartsWorkflow")
}

func (q *MessageQueue) checkLimits() error {
	if len(q.Limits) > MaxPlaces {
		return fmt.Errorf("%w: queue %s: %d limits: the most is %d", ErrInvalid, q.Name, len(q.Limits), MaxPlaces)
	}
	seen := make(map[string]bool)
	for i := range q.Limits {
		l := &q.Limits[i]
		err := l.CheckMessage()
		switch {
		case err != nil:
		case seen[l.Name]:
			err = fmt.Errorf("%w: limit %s is there twice: give one another name", ErrInvalid, l.Name)
		case l.Path != "" && l.Computed:
			err = fmt.Errorf("%w: limit %s: its key is computed, or stands at a path: not both", ErrInvalid, l.Name)
		}
		if seen[l.Name] = true; err != nil {
			return fmt.Errorf("queue %s: %w", q.Name, err)
		}
	}
	return nil
}

// Says returns the limits that it declares, by name.
func (q *MessageQueue) Says() []SaidLimit {
	all := slices.Clone(q.Limits)
	for i := range all {
		all[i].Messages = true
	}
	return sortLimits(all)
}

// Declares reports whether an existing declaration includes all of q.
func (q *MessageQueue) Declares(made *MessageQueue) bool {
	return q.Name == made.Name && q.Visibility == made.Visibility && q.MaxReceives == made.MaxReceives &&
		(q.Limits == nil || len(q.Limits) == 0 && made.Limits == nil || made.Limits != nil && slices.EqualFunc(sortLimits(slices.Clone(q.Limits)), sortLimits(slices.Clone(made.Limits)), sameLimit))
}

func sameLimit(a, b SaidLimit) bool {
	weights := maps.Equal(a.Weights, b.Weights)
	a.Weights, b.Weights = nil, nil
	return weights && reflect.DeepEqual(a, b)
}

func (m *Message) checkKeys() error {
	if len(m.Keys) > MaxPlaces+1 {
		return fmt.Errorf("%w: %d keys of limits: the most is %d", ErrInvalid, len(m.Keys), MaxPlaces)
	}
	for name, key := range m.Keys {
		if err := checkLimitKey(name, key); err != nil {
			return err
		}
	}
	return nil
}

// KeysElsewhere returns keys for a message that must not be refused, because it is part of an
// accepted change: an unreadable key counts as no key.
func KeysElsewhere(keys map[string]string) map[string]string {
	out := map[string]string{"": ""}
	maps.Copy(out, keys)
	return out
}

// MessagePlaces returns the places that each receive of a message needs, under these limits of its
// queue. The keys come from the message's Keys or its payload. The error is [ErrInvalid] if a key
// is missing.
func MessagePlaces(limits []SaidLimit, m *Message) (places []Place, err error) {
	other, lenient := m.Keys[""]
	for i := range limits {
		p := limits[i].Place()
		if p.Key, err = m.keyOf(&limits[i]); err != nil && lenient {
			p.Key, err = other, nil
		}
		if err != nil {
			return nil, err
		}
		places = append(places, p)
	}
	OrderPlaces(places)
	return places, nil
}

// keyOf is the key of a message, for a limit of its queue.
func (m *Message) keyOf(l *SaidLimit) (key string, err error) {
	key, said := m.Keys[l.Name]
	switch {
	case said:
	case l.Path != "":
		isJSON, found := m.Encrypted == "", false
		if isJSON {
			key, isJSON, found = keyAt(m.Payload, l.Path)
		}
		switch {
		case !isJSON:
			return "", wrongKey(l.Name, "the payload is encrypted, or not JSON: send it by a program that has the queue's definition")
		case !found:
			return "", wrongKey(l.Name, "the payload has no string, number or boolean at "+l.Path)
		}
	case l.Computed:
		return "", wrongKey(l.Name,
			"code computes it: send the message by a program that has the queue's definition, or let the limit say where the key stands, with By")
	}
	return key, checkLimitKey(l.Name, key)
}
