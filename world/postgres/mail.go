package postgres

// Mail as rows of the inbox.

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/layout"
)

// encodeMail makes the head and the body of a row of the inbox. IDs are written in full: nobody has to look up when the addressee was created. Such
// rows are decoded with the zero time as the birth.
func encodeMail(events []world.Event) (string, []byte, error) {
	return encode([16]byte{}, "", time.Time{}, events)
}

// kindOf tells what the queue wants to know of mail: whether it asks for the end, whether it is an operator's act, whether it counts toward the limit.
func kindOf(events []world.Event) (cancel bool, act *string, payload bool) {
	if len(events) != 1 {
		return false, nil, false
	}
	switch t := events[0].Type; t {
	case world.CancelRequested:
		return true, nil, false
	case world.RunPaused, world.RunResumed:
		name := string(t)
		return false, &name, false
	case world.SignalReceived, world.HookReceived:
		return false, nil, true
	}
	return false, nil, false
}

// sentRowOf encodes a delivery. Where it goes by token, its head has a placeholder for the ID of the hook.
func sentRowOf(m *world.Delivery) (row sentRow, err error) {
	row.delivery = orNull(m.ID)
	events := m.Events
	if m.Token != "" {
		id := rand.Text()
		events = slices.Clone(events)
		events[0].ID, row.placeholder = id, `"`+id+`"`
		token := clean(m.Token)
		row.token = &token
	} else {
		run := clean(m.Run)
		row.run = &run
	}
	if row.head, row.body, err = encodeMail(events); err != nil {
		return row, fmt.Errorf("run %s: delivery %q: %w", m.Run, m.ID, err)
	}
	row.sum = mailSum(row.head, row.body, row.placeholder)
	row.cancel, row.act, row.payload = kindOf(events)
	row.plain = world.Unencrypted(events)
	if m.ID != "" {
		key := m.Key()
		row.key, row.print, row.sender = key[:], m.Fingerprint(), m.Keeper()
	}
	return row, nil
}

// send puts the delivery of a commit on the sheet: what cannot arrive is dropped, and no limit holds it up.
func (d *draft) send(m *world.Delivery) error {
	row, err := sentRowOf(m)
	if err != nil {
		return err
	}
	d.bytes += len(row.head) + len(row.body)
	d.sheet.sent = append(d.sheet.sent, row)
	return nil
}

// mailSum is what a sender knows of the checksum of a row of the inbox: it is made without the ID in the placeholder, if there is one. The statement that
// inserts the row adds, behind the separator, the run's key, that ID and the ID of the delivery.
func mailSum(head string, body []byte, placeholder string) string {
	if placeholder != "" {
		head = strings.Replace(head, placeholder, "", 1)
	}
	return strconv.Itoa(int(layout.RowSum("", 0, world.LogFormat, []byte(head), body).Value()))
}

const sumSeparator = "\x1f"

// intactMail compares a row of the inbox with its checksum; nil: it has none.
func intactMail(sum *string, run int64, delivery string, format int, head string, body []byte) bool {
	if sum == nil {
		return true
	}
	value, rest, _ := strings.Cut(*sum, sumSeparator)
	key, rest, _ := strings.Cut(rest, sumSeparator)
	id, sent, _ := strings.Cut(rest, sumSeparator)
	if key != strconv.FormatInt(run, 10) || sent != delivery || format != world.LogFormat {
		return false
	}
	if id != "" {
		name, err := json.Marshal(id)
		if err != nil {
			return false
		}
		const member = `"id":`
		before, after, found := strings.Cut(head, member+string(name))
		if !found {
			return false
		}
		head = before + member + after
	}
	return value == strconv.Itoa(int(layout.RowSum("", 0, format, []byte(head), body).Value()))
}

// sumOf is a checksum of the database.
func sumOf(v *int32) layout.Sum {
	if v == nil {
		return layout.Sum{}
	}
	return layout.SumOf(*v)
}
