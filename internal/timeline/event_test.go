package timeline

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/journal"
)

func TestDetails(t *testing.T) {
	at := time.Date(2026, 11, 27, 9, 0, 0, 0, time.UTC)
	clock := func(t time.Time) string { return t.Format(time.TimeOnly) }
	for _, c := range []struct {
		event world.Event
		want  []Detail
	}{
		{world.Event{Type: world.RunStarted}, nil},
		{world.Event{Type: world.RunCreated, Birth: &world.Birth{Workflow: "order", Version: 2, Origin: &world.Origin{Run: "a", Seq: 7}}, By: "ann"},
			[]Detail{{"order", ""}, {"v2", ""}, {"from event 7 of run a", "a"}, {"by ann", ""}}},
		{world.Event{Type: world.StepRetrying, Attempt: 2, RetryAt: at}, []Detail{{"attempt 2", ""}, {"again at 09:00:00", ""}}},
		{world.Event{Type: world.WaitCompleted, Outcome: world.OutcomeReceived, From: 16}, []Detail{{"received", ""}, {"took event 16", ""}}},
		{world.Event{Type: world.WaitCreated, Kind: world.KindEvent, Match: json.RawMessage(`{"a":1}`), Until: at},
			[]Detail{{"event", ""}, {`where {"a":1}`, ""}, {"until 09:00:00", ""}}},
		{world.Event{Type: world.WaitCreated, Kind: world.KindEvent, Match: json.RawMessage(`{"a":1}`), Listen: &world.Listen{}, Until: at},
			[]Detail{{"event", ""}, {`where {"a":1}`, ""}, {"also when it is published", ""}, {"until 09:00:00", ""}}},
		{world.Event{Type: world.SignalReceived, ID: "wait_1"}, []Detail{{"published, for the wait wait_1", ""}}},
		{world.Event{Type: world.WaitCreated, Match: json.RawMessage(`"secret"`), Encrypted: "k1"}, []Detail{{"encrypted with the key k1", ""}}},
		{world.Event{Type: world.StepCreated, Kind: world.KindChild, Peer: "b\x1b", Reason: "x\ny"}, []Detail{{"child", ""}, {`run b\u001b`, "b\x1b"}, {`x y`, ""}}},
	} {
		if diff := cmp.Diff(c.want, Details(&c.event, 40, clock)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.event.Type, diff)
		}
	}
}

// TestNames: what began is remembered; what has a name of its own has that.
func TestNames(t *testing.T) {
	names := Names{}
	for _, c := range []struct {
		event world.Event
		want  string
	}{
		{world.Event{Type: world.StepCompleted, ID: "s1"}, ""},
		{world.Event{Type: world.StepCreated, ID: "s1", Name: "charge", Occurrence: 1}, "charge[1]"},
		{world.Event{Type: world.StepCompleted, ID: "s1"}, "charge[1]"},
		{world.Event{Type: world.SignalReceived, Name: "paid"}, "paid"},
		{world.Event{Type: world.RunCompleted}, ""},
	} {
		if got := names.Of(&c.event); got != c.want {
			t.Errorf("%s of %q is about %q, want %q", c.event.Type, c.event.ID, got, c.want)
		}
	}
}

func TestWaited(t *testing.T) {
	now := time.Date(2026, 11, 27, 9, 0, 0, 0, time.UTC)
	for want, en := range map[string]journal.Entry{
		"":                          {Status: journal.EntryWaiting},
		"until 09:01:00 (in 1 m)":   {Status: journal.EntryWaiting, Until: now.Add(time.Minute)},
		"also when it is published": {Status: journal.EntryWaiting, Listens: true},
		"until 09:01:00 (in 1 m), also when it is published": {Status: journal.EntryWaiting, Until: now.Add(time.Minute), Listens: true},
		"woken":     {Status: journal.EntryCompleted, Outcome: world.OutcomeWoken},
		"timed out": {Status: journal.EntryCompleted, Kind: world.KindEvent, Outcome: world.OutcomeDue},
	} {
		if got := Waited(&en, now); got != want {
			t.Errorf("%+v: got %q, want %q", en, got, want)
		}
	}
	if got := Waited(&journal.Entry{Kind: world.KindSleep, Outcome: world.OutcomeDue}, now); got != "" {
		t.Errorf("a sleep that ended is %q, want nothing said", got)
	}
}
