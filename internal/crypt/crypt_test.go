package crypt_test

// Tests of keys, envelopes and events: what was encrypted comes back as it was, and nothing else comes back at all.

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/stepwell/stepwell/internal/crypt"
	"github.com/stepwell/stepwell/world"
)

const secret = `{"card":"4111-1111-hidden"}`

// event draws an event with anything that can be encrypted.
func event(t *rapid.T) world.Event {
	raw := rapid.SampledFrom([]json.RawMessage{nil, json.RawMessage(secret), json.RawMessage(`""`), json.RawMessage(`"sealed:AQ"`), {}})
	e := world.Event{
		Type: rapid.SampledFrom(world.EventTypes).Draw(t, "type"), ID: rapid.SampledFrom([]string{"", "step_1", "hook_1"}).Draw(t, "ID"),
		Name: rapid.SampledFrom([]string{"", "pay"}).Draw(t, "name"), Payload: raw.Draw(t, "payload"),
	}
	if e.Type == world.WaitCreated {
		e.Match = raw.Draw(t, "match")
	}
	if rapid.Bool().Draw(t, "error") {
		e.Error = &world.Error{Message: secret, Code: "DECLINED", Where: "a.go:1", Causes: []*world.Error{{Message: secret, Value: json.RawMessage(secret)}}}
	}
	return e
}

// encrypted is what a world gets of an event.
func encrypted(t rapid.TB, r *crypt.Keyring, run string, e world.Event) world.Event {
	t.Helper()
	out, err := r.EncryptEvents([]world.Event{e}, run, r.Primary())
	if err != nil {
		t.Fatalf("encrypt: %v", err)
	}
	return out[0]
}

// TestRoundTrip: an event comes back as it was; what lies in the world shows nothing of it but its code, and is JSON.
func TestRoundTrip(t *testing.T) {
	r := crypt.Of(ring(t, "k1", "k2"))
	rapid.Check(t, func(t *rapid.T) {
		want := event(t)
		kept := encrypted(t, r, "wrun_1", want)
		text, err := json.Marshal(kept)
		if err != nil {
			t.Fatalf("what is kept is not JSON: %v", err)
		}
		if want.Type != world.AttrSet && bytes.Contains(text, []byte("4111-1111")) {
			t.Fatalf("the secret is in %s", text)
		}
		if want.Error != nil && (kept.Error.Code != want.Error.Code) {
			t.Fatalf("got code %q, want %q", kept.Error.Code, want.Error.Code)
		}
		got, err := r.OpenEvents([]world.Event{kept}, "wrun_1")
		if err != nil {
			t.Fatalf("decrypt: %v", err)
		}
		if diff := cmp.Diff(want, got[0]); diff != "" {
			t.Fatalf("-want +got:\n%s", diff)
		}
	})
}

// TestNoncesDiffer: the same payload is never encrypted to the same bytes.
func TestNoncesDiffer(t *testing.T) {
	r := crypt.Of(ring(t, "k1"))
	seen := map[string]bool{}
	for range 1000 {
		seen[string(encrypted(t, r, "wrun_1", world.Event{Type: world.SignalReceived, Name: "n", Payload: json.RawMessage(secret)}).Payload)] = true
	}
	if len(seen) != 1000 {
		t.Errorf("got %d different texts of 1000", len(seen))
	}
}

// TestTampered: whatever character is changed, cut or added, the event is refused as corrupt, or as of a format that is not known.
func TestTampered(t *testing.T) {
	r := crypt.Of(ring(t, "k1"))
	kept := encrypted(t, r, "wrun_1", world.Event{Type: world.StepCompleted, ID: "step_1", Seq: 7, Payload: json.RawMessage(secret)})
	refused := func(what string, payload json.RawMessage) {
		t.Helper()
		e := kept
		e.Payload = payload
		got, err := r.OpenEvents([]world.Event{e}, "wrun_1")
		if !errors.Is(err, world.ErrCorrupt) && !errors.Is(err, world.ErrFormat) {
			t.Errorf("%s: got %s, %v; want it refused", what, got[0].Payload, err)
		}
		if c, ok := errors.AsType[*world.CorruptError](err); ok && (c.Run != "wrun_1" || c.Seq != 7) {
			t.Errorf("%s: got %v, want the run and the event named", what, err)
		}
	}
	raw := []byte(kept.Payload)
	for i := range raw {
		for _, c := range []byte{raw[i] ^ 1, 'A', '"'} {
			if c == raw[i] {
				continue
			}
			changed := bytes.Clone(raw)
			changed[i] = c
			refused(fmt.Sprintf("character %d", i), changed)
		}
		refused(fmt.Sprintf("cut at %d", i), raw[:i])
	}
	refused("more", append(bytes.Clone(raw), '"'))
	for _, end := range []string{"\n", "\r"} { // which base64 skips
		refused("a line end", slices.Insert(bytes.Clone(raw), len(raw)/2, []byte(end)...))
	}
	refused("none", json.RawMessage{})
}

// TestMoved: what lies in another run, at another step, or as something else is refused. The result of another run is known as that run's.
func TestMoved(t *testing.T) {
	r := crypt.Of(ring(t, "k1"))
	done := encrypted(t, r, "wrun_1", world.Event{Type: world.StepCompleted, ID: "step_1", Payload: json.RawMessage(secret)})
	end := encrypted(t, r, "wrun_1", world.Event{Type: world.RunCompleted, Payload: json.RawMessage(secret)})
	failed := encrypted(t, r, "wrun_1", world.Event{Type: world.RunFailed, Error: &world.Error{Message: secret}})
	for name, test := range map[string]struct {
		e      world.Event
		run    string
		change func(*world.Event)
		peer   string // "": refused
	}{
		"another run":            {done, "wrun_2", func(*world.Event) {}, ""},
		"another step":           {done, "wrun_1", func(e *world.Event) { e.ID = "step_2" }, ""},
		"another type":           {done, "wrun_1", func(e *world.Event) { e.Type = world.StepCreated }, ""},
		"another key":            {done, "wrun_1", func(e *world.Event) { e.Encrypted = "k2" }, ""},
		"an end elsewhere":       {end, "wrun_2", func(*world.Event) {}, ""},
		"an own end as a result": {end, "wrun_1", func(e *world.Event) { *e = world.ResultFor(e, "step_9") }, ""},
		"an own failure as one":  {failed, "wrun_1", func(e *world.Event) { *e = world.ResultFor(e, "step_9") }, ""},
		"a text for an error":    {failed, "wrun_1", func(e *world.Event) { e.Error = &world.Error{Message: "put there"} }, ""},
		"no envelope":            {failed, "wrun_1", func(e *world.Event) { e.Error = &world.Error{Message: e.Error.Message, Value: e.Error.Value[2:]} }, ""},
		"an end as a signal":     {end, "wrun_2", func(e *world.Event) { e.Type = world.SignalReceived }, ""},
		"an end as a result":     {end, "wrun_2", func(e *world.Event) { *e = world.ResultFor(e, "step_9") }, "wrun_1"},
		"a failure as one":       {failed, "wrun_2", func(e *world.Event) { *e = world.ResultFor(e, "step_9") }, "wrun_1"},
		"an end as a failure": {end, "wrun_2", func(e *world.Event) {
			e.Type, e.Error, e.Payload = world.StepFailed, &world.Error{Value: e.Payload}, nil
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			e := test.e
			test.change(&e)
			opener := r
			if e.Encrypted == "k2" {
				opener = crypt.Of(ring(t, "k2"))
			}
			got, err := opener.OpenEvents([]world.Event{e}, test.run)
			if test.peer == "" {
				if !errors.Is(err, world.ErrCorrupt) {
					t.Errorf("got %+v, %v; want it refused as corrupt", got[0], err)
				}
				return
			}
			if err != nil || got[0].Peer != test.peer || got[0].Encrypted != "" {
				t.Errorf("got peer %q, sealed %q, %v; want the result of %s", got[0].Peer, got[0].Encrypted, err, test.peer)
			}
		})
	}
}

// TestUnknownBit: every bit that this release does not know is a format that it does not know, and not a log that is damaged.
func TestUnknownBit(t *testing.T) {
	r := crypt.Of(ring(t, "k1"))
	kept := encrypted(t, r, "wrun_1", world.Event{Type: world.SignalReceived, Name: "n", Payload: json.RawMessage(secret)})
	raw, err := base64.RawStdEncoding.DecodeString(strings.TrimSuffix(strings.TrimPrefix(string(kept.Payload), `"sealed:`), `"`))
	if err != nil {
		t.Fatal(err)
	}
	for at := range 4 { // version, codec, compression, place
		for bit := range 8 {
			b := bytes.Clone(raw)
			b[at] ^= 1 << bit
			e := kept
			e.Payload = json.RawMessage(`"sealed:` + base64.RawStdEncoding.EncodeToString(b) + `"`)
			if _, err := r.OpenEvents([]world.Event{e}, "wrun_1"); !errors.Is(err, world.ErrFormat) {
				t.Errorf("byte %d, bit %d: got %v, want an unknown format", at, bit, err)
			}
		}
	}
}

// TestWithoutTheKey: an event whose key is not there stays as it is, and says which key that is.
func TestWithoutTheKey(t *testing.T) {
	kept := encrypted(t, crypt.Of(ring(t, "k1")), "wrun_1", world.Event{Type: world.SignalReceived, Name: "n", Payload: json.RawMessage(secret)})
	got, err := crypt.Of(ring(t, "k2")).OpenEvents([]world.Event{kept}, "wrun_1")
	if err != nil || !cmp.Equal(got[0], kept) {
		t.Errorf("got %+v, %v; want it as it was", got[0], err)
	}
	k, ok := errors.AsType[*world.KeyError](crypt.Encrypted("wrun_1", got))
	if !ok || k.Key != "k1" || k.Run != "wrun_1" {
		t.Errorf("got %v, want the key k1 of wrun_1", k)
	}
	_, err = crypt.Of(ring(t, "k1")).OpenEvents([]world.Event{kept}, "wrun_1") // a key of the same name
	if !errors.Is(err, world.ErrCorrupt) {
		t.Errorf("another key of that name: got %v, want it refused", err)
	}
}

// FuzzOpen: no bytes make the reader panic, and none but the encrypted ones are taken.
func FuzzOpen(f *testing.F) {
	r := crypt.Of(ring(f, "k1"))
	out, err := r.EncryptEvents([]world.Event{{Type: world.SignalReceived, Name: "n", Payload: json.RawMessage(secret)}}, "wrun_1", "k1")
	if err != nil {
		f.Fatal(err)
	}
	for _, s := range []string{string(out[0].Payload), `"sealed:`, `"sealed:"`, `"sealed:AQAAAAJrMQA"`, `"sealed:AQAAAP8"`, `{}`, ``, `"sealed:AQAAAAJrMf8"`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		e := out[0]
		e.Payload = b
		got, err := r.OpenEvents([]world.Event{e}, "wrun_1")
		if err == nil && b != nil && !bytes.Equal(b, out[0].Payload) {
			t.Errorf("%q was taken for %s", b, got[0].Payload)
		}
	})
}

func BenchmarkSealAndOpen(b *testing.B) {
	r := crypt.Of(ring(b, "k1"))
	for _, size := range []int{100, 1 << 10, 64 << 10} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			e := []world.Event{{Type: world.StepCompleted, ID: "step_1", Payload: json.RawMessage(`"` + strings.Repeat("x", size) + `"`)}}
			b.SetBytes(int64(size))
			b.ReportAllocs()
			for b.Loop() {
				kept, err := r.EncryptEvents(e, "wrun_1", "k1")
				if err == nil {
					_, err = r.OpenEvents(kept, "wrun_1")
				}
				if err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
