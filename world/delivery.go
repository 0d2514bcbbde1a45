package world

// How repeated deliveries are known. Whoever accepts a delivery notes its key, in the same transaction, and refuses
// or ignores what comes under that key again:
//
//  1. A key is of what is sent and where to: the event, the token of the hook, or the act, and the delivery ID. So
// one ID can name a send of each.
//  2. It is known for as long as the first copy is unread; for as long as its sender can repeat it, where that is a
// step, see [Delivery.Sender];
//     and else for 24 hours (a setting of the world) and the last [DeliveriesKept] of the run, whatever segments
//   pass and whatever is trimmed.
//     What the world need not know any more, Sweep deletes.
//  3. It is known behind the end of the run as well, for as long as the run is kept: a repeat gets the answer that
// the first one got.
//  4. What commits send, and what a world sends itself, needs no key: it is written once, with the commit.

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/oklog/ulid/v2"
)

// DeliveriesKept is how many of a run's last deliveries are known at least, of any age.
const DeliveriesKept = 10_000

// KeepDeliveries is how long deliveries are known at least, by default.
const KeepDeliveries = 24 * time.Hour

// PassedBy is the number of deliveries, on average, after which the sweeper examines a run's
// deliveries.
const PassedBy = 256

// Key identifies a delivery within its run, by its target and its ID. A hook is identified by its
// token, so a repeat is recognised after the run has reopened the hook. The zero key: no ID.
//
// A key is known for KeepDeliveries and over the last [DeliveriesKept] deliveries at least, and
// longer as [Delivery.Keeper] says.
func (d *Delivery) Key() (key [16]byte) {
	if d.ID == "" || len(d.Events) == 0 {
		return key
	}
	e := &d.Events[0]
	return deliveryKey(d.ID, e, cmp.Or(d.Token, d.Of, e.ID))
}

// DeliveryKey is Key for an event in the log, where hooks have IDs. [State.Delivered] uses it as a
// second check.
func DeliveryKey(id string, e *Event) [16]byte { return deliveryKey(id, e, e.ID) }

func deliveryKey(id string, e *Event, hook string) [16]byte {
	what := ""
	switch e.Type {
	case SignalReceived:
		what = e.Name
	case HookReceived:
		what = hook
	}
	b := make([]byte, 0, len(e.Type)+len(what)+len(id)+2)
	b = append(append(append(append(append(b, e.Type...), 0), what...), 0), id...)
	sum := sha256.Sum256(b)
	return [16]byte(sum[:16])
}

// Marked reports whether a delivery with this key makes the sweeper examine its run: see
// [PassedBy].
func Marked(key [16]byte) bool { return key[0] == 0 }

// Fingerprint returns 8 bytes that a repeat must share with the first copy, from Print or from the
// payload as compact JSON. Nil: none.
func (d *Delivery) Fingerprint() []byte {
	if len(d.Events) != 1 {
		return nil
	}
	e := &d.Events[0]
	switch {
	case e.Type != SignalReceived && e.Type != HookReceived:
		return nil
	case len(d.Print) > 0:
		return fingerprint("print\x00", d.Print)
	case e.Encrypted != "":
		return nil
	}
	var compact bytes.Buffer
	if json.Compact(&compact, e.Payload) != nil {
		return fingerprint("", e.Payload)
	}
	return fingerprint("", compact.Bytes())
}

func fingerprint(kind string, b []byte) []byte {
	h := sha256.New()
	h.Write([]byte(kind))
	h.Write(b)
	return h.Sum(nil)[:8]
}

// BirthDeliveries returns the deliveries that were sent with a birth: the signals directly after
// run_created that have an ID. A store recognises their repeats, as for later ones.
func BirthDeliveries(c *Commit) (all []*Delivery) {
	if !c.Birth() {
		return nil
	}
	for i := 1; i < len(c.Events) && c.Events[i].Type == SignalReceived; i++ {
		if e := c.Events[i]; e.Delivery != "" {
			d := &Delivery{Run: c.Run, ID: e.Delivery, Events: []Event{e}}
			if n := len(all); n < len(c.Prints) {
				d.Print = c.Prints[n]
			}
			all = append(all, d)
		}
	}
	return all
}

// NoRepeat returns the error for a delivery with Repeat that is not a repeat.
func NoRepeat(run string, d *Delivery) error {
	return fmt.Errorf("run %s: a first copy of delivery %q: %w", run, d.ID, ErrNotFound)
}

// Differ reports whether two fingerprints are of different payloads. An unknown fingerprint differs
// from none.
func Differ(a, b []byte) bool { return len(a) > 0 && len(b) > 0 && !bytes.Equal(a, b) }

// Keeper says how long the delivery's key must be known beyond the general time: until the run with
// the returned ID is over; "": for as long as the receiver is kept; nil: no longer.
func (d *Delivery) Keeper() *string {
	if d.Sender != "" {
		return &d.Sender
	}
	if len(d.Events) == 1 && d.Events[0].Type == InputReceived && d.Events[0].Name != "" { // an idempotency key
		return new(string)
	}
	if id, ok := strings.CutPrefix(d.ID, PrefixStep+"_"); ok && len(id) >= ulid.EncodedSize {
		if _, err := ulid.ParseStrict(id[:ulid.EncodedSize]); err == nil { // the key of a step, whoever passes it on
			return new(string)
		}
	}
	return nil
}

// Late is accepted mail that the run ended without reading. It had no effect.
type Late struct {
	Type      EventType `json:"type"`
	Name      string    `json:"name,omitempty"`     // of a signal_received
	Delivery  string    `json:"delivery,omitempty"` // delivery ID
	By        string    `json:"by,omitempty"`
	Reason    string    `json:"reason,omitempty"`
	ArrivedAt time.Time `json:"arrivedAt,omitzero"`
}

// Wakes reports whether the delivery is an operator's wake: a run_resumed with [OutcomeWoken], as
// an act. It ends no pause and writes nothing to the log. A blocked run that is neither paused nor
// owned is tried again at once. A run whose start is delayed is due at once. Other runs do not
// change.
func (d *Delivery) Wakes() bool {
	return d.Act && len(d.Events) == 1 && d.Events[0].Type == RunResumed && d.Events[0].Outcome == OutcomeWoken
}
