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

// DeliveriesKept is how many of a run's last deliveries are known at least, however old they are.
const DeliveriesKept = 10_000

// KeepDeliveries is for how long deliveries are known at least, unless a world is told otherwise.
const KeepDeliveries = 24 * time.Hour

// PassedBy is about one in how many deliveries has the sweeper look at a run's: so that nobody counts them one by one.
const PassedBy = 256

// Key names a delivery within its run, by what it is for and its ID. A hook is named by its token, so that a payload
// that comes again is the same where the run has
// opened a hook with that token anew. The zero key: it has no ID.
func (d *Delivery) Key() (key [16]byte) {
	if d.ID == "" || len(d.Events) == 0 {
		return key
	}
	e := &d.Events[0]
	return deliveryKey(d.ID, e, cmp.Or(d.Token, d.Of, e.ID))
}

// DeliveryKey is the same for what is in the log, where hooks have IDs: the fold's own fence behind what worlds know.
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

// Marked reports whether the delivery with a key is one that has the sweeper look at its run.
func Marked(key [16]byte) bool { return key[0] == 0 }

// Fingerprint is what a repeat has to have in common with the first copy, in 8 bytes: Print, or else the payload as
// compact JSON. Nil: nothing.
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

// BirthDeliveries are what was sent to a run with its birth: the signals right behind run_created that have an ID. A
// world knows them when they come again, as it does what came later.
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

// NoRepeat refuses a delivery that may only be a repeat, and is none.
func NoRepeat(run string, d *Delivery) error {
	return fmt.Errorf("run %s: a first copy of delivery %q: %w", run, d.ID, ErrNotFound)
}

// Differ reports whether two fingerprints are of different payloads; where one is not known they are not.
func Differ(a, b []byte) bool { return len(a) > 0 && len(b) > 0 && !bytes.Equal(a, b) }

// Keeper says for how long the delivery's key is to be known beyond what is said for all: as long as the run with
// this ID is not over; "": as long as
// the addressee is kept; nil: no longer.
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

// Late is mail that came to a run before its end, was accepted, and was not read any more: it had no effect.
type Late struct {
	Type      EventType `json:"type"`
	Name      string    `json:"name,omitempty"`     // signal_received
	Delivery  string    `json:"delivery,omitempty"` // its ID
	By        string    `json:"by,omitempty"`
	Reason    string    `json:"reason,omitempty"`
	ArrivedAt time.Time `json:"arrivedAt,omitzero"`
}

// Wakes reports whether the delivery is the act of an operator who wakes a run, a run_resumed with [OutcomeWoken]. It ends
// no pause and writes nothing to the log: one that is blocked, not paused and nobody's is tried again at once; one that has
// not begun, as its start is delayed, is due at once; to others nothing happens.
func (d *Delivery) Wakes() bool {
	return d.Act && len(d.Events) == 1 && d.Events[0].Type == RunResumed && d.Events[0].Outcome == OutcomeWoken
}
