package world_test

import (
	"testing"
	"time"

	"github.com/stepwell/stepwell/world"
)

// TestEndsAreTaken: whatever a message ends with, and after however long, is what a store takes.
func TestEndsAreTaken(t *testing.T) {
	m := &world.Message{Receipt: world.Receipt(1, 1)}
	for _, kind := range []world.SettleKind{world.Ack, world.Nack, world.Bury, world.Unread} {
		for _, after := range []time.Duration{-time.Hour, 0, time.Second, world.MaxDelay, 10 * world.MaxDelay} {
			s := m.End(kind, after, "why")
			if err := world.CheckSettlements([]world.Settlement{s}); err != nil || s.Kind != kind || s.Error != "why" {
				t.Errorf("%s after %s: %+v, %v", kind, after, s, err)
			}
			if want := kind == world.Nack || kind == world.Unread; (s.After > 0) != (want && after > 0) {
				t.Errorf("%s after %s: it is ready again after %s", kind, after, s.After)
			}
		}
	}
}
