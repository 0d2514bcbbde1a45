package layout

import (
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/stepwell/stepwell/world"
)

var birthForRows = time.Date(2026, 11, 21, 12, 0, 0, 123_000_000, time.UTC)

// drawEvent draws any event, also ones that no rule allows: the codec does not judge.
func drawEvent(t *rapid.T) world.Event {
	text := rapid.OneOf(rapid.Just(""), rapid.String())
	when := rapid.Custom(func(t *rapid.T) time.Time {
		if rapid.Bool().Draw(t, "zero") {
			return time.Time{}
		}
		return time.UnixMicro(rapid.Int64Range(-1<<50, 1<<52).Draw(t, "µs")).UTC()
	})
	raw := rapid.Custom(func(t *rapid.T) json.RawMessage {
		if rapid.Bool().Draw(t, "nil") {
			return nil
		}
		return rapid.SliceOf(rapid.Byte()).Draw(t, "bytes")
	})
	key := world.Key{Kind: world.KindClosure, Name: rapid.String().Draw(t, "key")}
	e := world.Event{
		Type:       rapid.SampledFrom(world.EventTypes).Draw(t, "type"),
		Time:       when.Draw(t, "time"),
		OccurredAt: when.Draw(t, "occurred"),
		ID:         rapid.OneOf(text, rapid.Just(world.CorrelationID("r", birthForRows, key))).Draw(t, "id"),
		Delivery:   text.Draw(t, "delivery"),
		Kind:       world.Kind(text.Draw(t, "kind")),
		Name:       text.Draw(t, "name"),
		Path:       text.Draw(t, "path"),
		Occurrence: rapid.Int().Draw(t, "occurrence"),
		Attempt:    rapid.Int().Draw(t, "attempt"),
		Queued:     rapid.Bool().Draw(t, "queued"),
		Payload:    raw.Draw(t, "payload"),
		RetryAt:    when.Draw(t, "retry"),
		Until:      when.Draw(t, "until"),
		Match:      raw.Draw(t, "match"),
		Outcome:    world.Outcome(text.Draw(t, "outcome")),
		From:       rapid.Int64().Draw(t, "from"),
		Token:      text.Draw(t, "token"),
		Chosen:     rapid.Bool().Draw(t, "chosen"),
		Peer:       text.Draw(t, "peer"),
		By:         text.Draw(t, "by"),
		Reason:     text.Draw(t, "reason"),
		Version:    rapid.Int().Draw(t, "version"),
	}
	if e.From == -1<<63 {
		e.From = 0
	}
	for _, n := range []*int{&e.Occurrence, &e.Attempt, &e.Version} {
		if *n == -1<<63 {
			*n = 0
		}
	}
	attrs := rapid.Custom(func(t *rapid.T) map[string]json.RawMessage {
		if m := rapid.MapOf(rapid.String(), raw).Draw(t, "attrs"); len(m) > 0 {
			return m
		}
		return nil
	})
	switch rapid.IntRange(0, 5).Draw(t, "rare") {
	case 0:
		e.Error = &world.Error{Name: text.Draw(t, "n"), Message: text.Draw(t, "m"), Stack: text.Draw(t, "s"), Permanent: true,
			Causes: []*world.Error{{Message: text.Draw(t, "cause")}}}
	case 1:
		e.Birth = drawBirth(t, text, when.Draw(t, "nb"))
		e.Birth.Attributes = attrs.Draw(t, "a")
	case 2:
		e.Next = &world.Continuation{Version: 3, Unread: []int64{1, 2}, Hooks: []string{text.Draw(t, "hook")}, Attributes: attrs.Draw(t, "a")}
	}
	return e
}

func drawBirth(t *rapid.T, text *rapid.Generator[string], notBefore time.Time) *world.Birth {
	duration := rapid.Custom(func(t *rapid.T) time.Duration {
		return time.Duration(rapid.Int64Range(-1<<33, 1<<33).Draw(t, "n")) * rapid.SampledFrom([]time.Duration{1, time.Second}).Draw(t, "unit")
	})
	b := &world.Birth{Workflow: text.Draw(t, "wf"), Version: rapid.IntRange(0, 9).Draw(t, "version"), Seed: rapid.Uint64().Draw(t, "seed"),
		Key: text.Draw(t, "idem"), Priority: rapid.IntRange(0, 3).Draw(t, "priority"), Retention: duration.Draw(t, "retention"),
		Timeout: duration.Draw(t, "timeout"), StartTTL: duration.Draw(t, "start TTL"), NotBefore: notBefore, Deployment: text.Draw(t, "deployment")}
	if rapid.Bool().Draw(t, "child") {
		b.Parent = &world.Parent{Run: text.Draw(t, "parent"), Step: text.Draw(t, "step"), Detached: rapid.Bool().Draw(t, "detached")}
	}
	if rapid.Bool().Draw(t, "fork") {
		b.Origin = &world.Origin{Run: text.Draw(t, "origin"), Seq: rapid.Int64Range(0, 1<<40).Draw(t, "cut")}
	}
	if m := rapid.MapOf(rapid.String(), rapid.String()).Draw(t, "context"); len(m) > 0 {
		b.Context = m
	}
	return b
}

func TestRowRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		events := rapid.SliceOfN(rapid.Custom(drawEvent), 1, 4).Draw(t, "events")
		first := rapid.Int64Range(1, 1<<40).Draw(t, "first")
		build := rapid.String().Draw(t, "build")
		id := [16]byte(rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "commit"))
		head, body, err := AppendRow(nil, []byte("other"), id, build, birthForRows, events)
		if err != nil {
			t.Fatalf("AppendRow: %v", err)
		}
		if !json.Valid(head) {
			t.Fatalf("head is not JSON: %s", head)
		}
		got, gotID, gotBuild, err := DecodeRow("r", birthForRows, first, world.LogFormat, string(head), body[len("other"):])
		if err != nil {
			t.Fatalf("DecodeRow: %v of %s", err, head)
		}
		if gotID != id || gotBuild != build {
			t.Fatalf("got commit %x by %q, want %x by %q", gotID, gotBuild, id, build)
		}
		for i := range events {
			events[i].Seq, events[i].Commit, events[i].Build = first+int64(i), first, build
		}
		if d := cmp.Diff(events, got); d != "" {
			t.Fatalf("events differ (-want +got):\n%s", d)
		}
	})
}

func TestRowLeavesOutWhatCanBeDerived(t *testing.T) {
	t.Parallel()
	steps := `"e":[{"y":"step_completed","i":"` + stepEvents()[0].ID[15:] + `","a":1,"o":0,"l":13},` +
		`{"y":"step_created","t":5,"i":"` + stepEvents()[1].ID[15:] + `","k":"closure","n":"charge","c":1,"o":13,"l":17},` +
		`{"y":"step_started","t":5,"i":"` + stepEvents()[1].ID[15:] + `","a":1}]}`
	for _, test := range []struct {
		name   string
		later  time.Duration
		events []world.Event
		want   string
	}{
		{"at the birth", 0, stepEvents(), steps},
		{"later", time.Millisecond, stepEvents(), `"s":1000,` + steps},
		{"asleep", 0, sleepEvents(), `"e":[{"y":"run_created","o":0,"l":2,"b":{"w":"nap","v":1,"s":18446744073709551615,"r":2592000}},` +
			`{"y":"run_started"},{"y":"wait_created","i":"` + sleepEvents()[2].ID[15:] + `","k":"sleep","n":"nap","u":1795348800123000}]}`},
	} {
		for i := range test.events {
			test.events[i].Time = test.events[i].Time.Add(test.later)
		}
		head, _, err := AppendRow(nil, nil, [16]byte{}, "b1", birthForRows, test.events)
		if err != nil {
			t.Fatal(err)
		}
		if want := `{"c":"AAAAAAAAAAAAAAAAAAAAAA","b":"b1",` + test.want; string(head) != want {
			t.Errorf("%s: head: got\n%s, want\n%s", test.name, head, want)
		}
	}
}

// Who sends mail to a run that it has not looked up does not know the run's birth.
func TestRowWithoutBirth(t *testing.T) {
	t.Parallel()
	at := birthForRows.Add(time.Hour)
	head, body, err := AppendRow(nil, nil, [16]byte{}, "", time.Time{}, []world.Event{{Type: world.SignalReceived, Time: at}, {Type: world.RunPaused}})
	if err != nil {
		t.Fatal(err)
	}
	got, _, _, err := DecodeRow("r", birthForRows, 1, world.LogFormat, string(head), body)
	if err != nil {
		t.Fatal(err)
	}
	if !got[0].Time.Equal(at) || !got[1].Time.IsZero() {
		t.Errorf("got times %s and %s, want %s and none", got[0].Time, got[1].Time, at)
	}
}

func TestRowNotUTF8(t *testing.T) {
	t.Parallel()
	head, body, err := AppendRow(nil, nil, [16]byte{}, "", birthForRows, []world.Event{{Type: world.RunPaused, Reason: "a\xffb"}})
	if err != nil {
		t.Fatal(err)
	}
	got, _, _, err := DecodeRow("r", birthForRows, 1, world.LogFormat, string(head), body)
	if err != nil {
		t.Fatal(err)
	}
	if want := "a\uFFFDb"; got[0].Reason != want {
		t.Errorf("got %q, want %q", got[0].Reason, want)
	}
}

func TestDecodeRowRefuses(t *testing.T) {
	t.Parallel()
	const good = `{"c":"AAAAAAAAAAAAAAAAAAAAAA","t":1,"e":[{"y":"run_started"}]}`
	if _, _, _, err := DecodeRow("r", birthForRows, 1, world.LogFormat, good, nil); err != nil {
		t.Fatalf("good head: %v", err)
	}
	for _, head := range []string{
		``, `{}`, `null`, `[]`, good + `x`, good[:20], `{"c":"AA","t":1,"e":[{"y":"run_started"}]}`, `{"e":[]}`,
		`{"e":[{}]}`, `{"e":[{"y":"run_started","new":1}]}`, `{"e":[{"y":"run_started","o":0,"l":9}]}`, `{"e":[{"y":"run_started","o":-1,"l":0}]}`,
		`{"e":[{"y":"run_started","i":"0123456789ABCDEF"}]}`, `{"e":[{"y":"step_started","i":"short"}]}`,
		`{"e":[{"y":"run_started","f":99999999999999999999}]}`, `{"e":[{"y":"x","at":{"a":null}}]}`, `{"e":[{"y":"x","m":[0,`,
		`{"c":"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA","e":[{"y":"run_started"}]}`,
	} {
		_, _, _, err := DecodeRow("r", birthForRows, 7, world.LogFormat, head, []byte("body"))
		if c, ok := errors.AsType[*world.CorruptError](err); !ok || !errors.Is(err, world.ErrCorrupt) || c.Seq < 7 || c.Run != "r" {
			t.Errorf("head %s: got error %v, want a corrupt log from event 7 on", head, err)
		}
	}
	if _, _, _, err := DecodeRow("r", birthForRows, 1, world.LogFormat+1, good, nil); !errors.Is(err, world.ErrFormat) {
		t.Errorf("newer format: got error %v, want ErrFormat", err)
	}
}

func FuzzDecodeRow(f *testing.F) {
	head, body, _ := AppendRow(nil, nil, [16]byte{1}, "b", birthForRows, append(stepEvents(), world.Event{Type: world.RunFailed, Error: &world.Error{Message: "\"x\""}}))
	f.Add(string(head), body)
	f.Add(`{"e":[{"y":"run_created","b":{"w":"w"},"at":{"a":[0,1]}}]}`, []byte("1"))
	f.Add(`{"e":[{"y":"x","n":"\u00`, []byte(nil))
	f.Add(`{"s":1,"e":[{"y":"run_created","b":{"w":"w","s":1,"p":0,"rn":5,"t":1,"nb":1,"pr":"","pd":1,"or":"r","os":1,"x":{"a":""}}}]}`, []byte(nil))
	f.Fuzz(func(t *testing.T, head string, body []byte) {
		events, id, build, err := DecodeRow("r", birthForRows, 1, world.LogFormat, head, body)
		if err != nil {
			if !errors.Is(err, world.ErrCorrupt) {
				t.Fatalf("got error %v, want ErrCorrupt", err)
			}
			return
		}
		if _, _, err := AppendRow(nil, nil, id, build, birthForRows, events); err != nil && !errors.Is(err, world.ErrInvalid) {
			t.Fatalf("writing it again: %v", err)
		}
	})
}

// stepEvents is the usual commit of a run of steps one after the other.
func stepEvents() []world.Event {
	id := func(n int) string {
		return world.CorrelationID("r", birthForRows, world.Key{Kind: world.KindClosure, Name: "charge", Occurrence: n})
	}
	later := birthForRows.Add(5 * time.Microsecond)
	return []world.Event{
		{Type: world.StepCompleted, Time: birthForRows, ID: id(0), Attempt: 1, Payload: json.RawMessage(`{"ok":"done"}`)},
		{Type: world.StepCreated, Time: later, ID: id(1), Kind: world.KindClosure, Name: "charge", Occurrence: 1, Payload: json.RawMessage(`{"order":"A-1.2"}`)},
		{Type: world.StepStarted, Time: later, ID: id(1), Attempt: 1},
	}
}

// sleepEvents is the only commit of a run that sleeps.
func sleepEvents() []world.Event {
	id := world.CorrelationID("r", birthForRows, world.Key{Kind: world.KindSleep, Name: "nap"})
	return []world.Event{
		{Type: world.RunCreated, Time: birthForRows, Payload: json.RawMessage(`{}`),
			Birth: &world.Birth{Workflow: "nap", Version: 1, Seed: 1<<64 - 1, Priority: 1, Retention: 30 * 24 * time.Hour}},
		{Type: world.RunStarted, Time: birthForRows},
		{Type: world.WaitCreated, Time: birthForRows, ID: id, Kind: world.KindSleep, Name: "nap", Until: birthForRows.Add(24 * time.Hour)},
	}
}

func BenchmarkAppendRow(b *testing.B) {
	events := stepEvents()
	var head, body []byte
	b.ReportAllocs()
	for b.Loop() {
		var err error
		if head, body, err = AppendRow(head[:0], body[:0], [16]byte{1}, "build-1", birthForRows, events); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkDecodeRow(b *testing.B) {
	head, body, err := AppendRow(nil, nil, [16]byte{1}, "build-1", birthForRows, stepEvents())
	if err != nil {
		b.Fatal(err)
	}
	text := string(head)
	b.ReportAllocs()
	for b.Loop() {
		if _, _, _, err := DecodeRow("r", birthForRows, 1, world.LogFormat, text, body); err != nil {
			b.Fatal(err)
		}
	}
}
