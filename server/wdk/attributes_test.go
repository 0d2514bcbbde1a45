package wdk

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stepwell/stepwell/world"
)

func setAttributes(id string, from, to int, value, step string) string {
	var all []string
	for i := from; i < to; i++ {
		all = append(all, fmt.Sprintf(`{'key': 'k%d', 'value': %s}`, i, value))
	}
	return `'eventType': 'attr_set', 'correlationId': '` + id + `', 'eventData': {'changes': [` + strings.Join(all, ", ") +
		`], 'writer': {'type': 'step', 'stepId': '` + step + `', 'attempt': 2}}`
}

// TestAttributeLimits: a run has as many attributes as it could have begun with, and each event of it can be read.
func TestAttributeLimits(t *testing.T) {
	t.Parallel()
	r := newRig(t, "memory")
	id, other := r.begin(), hostOn(t, r.world)
	refused := func(what string, h *Host, event string, want error) {
		t.Helper()
		before := len(r.types(id))
		_, err := h.Call(t.Context(), "events.create", json.RawMessage(strings.ReplaceAll(eventOf(id, event), "'", `"`)))
		if !errors.Is(err, want) || len(r.types(id)) != before {
			t.Errorf("%s: %v, want %v, and nothing written", what, err, want)
		}
	}
	refused("too many at once", r.host, setAttributes("attr_0", 0, world.MaxAttributes+1, `'1'`, "step_1"), world.ErrTooLarge)
	r.event(id, setAttributes("attr_1", 0, world.MaxAttributes, `'1'`, "step_1"))
	r.event(id, setAttributes("attr_2", 0, 1, `'2'`, "step_1"))
	refused("one more", r.host, setAttributes("attr_3", 64, 65, `'1'`, "step_1"), world.ErrTooLarge)
	refused("no step", r.host, setAttributes("attr_4", 0, 1, `'1'`, "a#b"), world.ErrInvalid)
	if _, refusal := r.call(other, "events.create", eventOf(id, setAttributes("attr_5", 0, 1, `null`, "step_1"))); refusal != "" {
		t.Fatal(refusal)
	}
	r.event(id, setAttributes("attr_6", 64, 65, `'1'`, "step_1")) // there is room again

	for _, path := range []string{"a#b", "a#b#3", "#"} { // as it may be in a log
		if err := r.host.with(t.Context(), id, true, func(run *run) error {
			if err := r.host.own(t.Context(), run); err != nil {
				return err
			}
			c := run.next(new(createIn).commitID())
			c.Events = []world.Event{{Type: world.AttrSet, ID: "attr " + path, Name: "k1", Path: path, Payload: []byte("1"), Time: world.Now()}}
			_, err := r.host.world.Commit(t.Context(), c)
			return err
		}); err != nil {
			t.Fatal(err)
		}
	}
	out, _ := r.call(r.host, "events.list", `{'runId': '`+id+`'}`)
	all := out["data"].([]any)
	writer := all[len(all)-2].(map[string]any)["eventData"].(map[string]any)["writer"].(map[string]any)
	if len(all) != 9 || writer["stepId"] != "a#b" || writer["attempt"] != 3. {
		t.Errorf("%d events, the last but one by %v", len(all), writer)
	}
}
