package replay

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/stepwell/stepwell/world"
)

// TestAttributesOfOldLogs: a log of before there was a limit goes on: what it has stands, and the next one is refused.
func TestAttributesOfOldLogs(t *testing.T) {
	var refused []int
	code := func(x *Ctx) Outcome {
		for i := range 70 {
			if err := x.SetAttribute(fmt.Sprint("a", i), json.RawMessage("1")); errors.Is(err, world.ErrTooLarge) {
				refused = append(refused, i)
			}
		}
		return Outcome{}
	}
	m := New(Config{Run: "wrun_test", Created: created, Seed: 7}, code)
	defer m.Close()
	log := []world.Event{{Seq: 1, Type: world.RunCreated, Time: created}, {Seq: 2, Type: world.RunStarted, Time: created}}
	for i := range 68 { // as a release with a higher bound wrote it
		k := world.Key{Kind: world.KindAttr, Name: fmt.Sprint("a", i)}
		log = append(log, world.Event{Seq: int64(i) + 3, Type: world.AttrSet, ID: world.CorrelationID("wrun_test", created, k), Name: k.Name, Payload: json.RawMessage("1"), Time: created})
	}
	if err := m.Feed(log, false); err != nil {
		t.Fatal(err)
	}
	if fmt.Sprint(refused) != "[68 69]" || len(m.Asked()) != 0 {
		t.Errorf("refused %v, and %d are asked for: want 68 and 69 refused, all else as recorded", refused, len(m.Asked()))
	}
}
