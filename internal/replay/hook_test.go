package replay

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stepwell/stepwell/world"
)

func hookBody(token string, receives int) Body {
	return func(x *Ctx) Outcome {
		h := x.Hook("h", token, nil)
		x.Wait(h)
		out := fmt.Sprintf("%v;", h.Err())
		for range receives {
			f := x.Receive(h)
			x.Wait(f)
			out += fmt.Sprintf("%s %v;", f.Payload(), f.Err())
		}
		return Outcome{Output: []byte(out)}
	}
}

// opened is the token of the hook that a machine asks for in its first turn.
func opened(t *testing.T, cfg Config) string {
	t.Helper()
	cfg.Created = created
	m := New(cfg, hookBody("", 1))
	defer m.Close()
	if err := m.Feed([]world.Event{{Seq: 1, Type: world.RunStarted, Time: created}}, false); err != nil {
		t.Fatal(err)
	}
	return m.Asked()[0].Token
}

// TestUnchosenTokensFollowFromTheSecretAlone: not from what readers of the log are shown.
func TestUnchosenTokensFollowFromTheSecretAlone(t *testing.T) {
	secret, other := []byte("one secret"), []byte("another secret")
	a := opened(t, Config{Run: "wrun_a", Seed: 1, Secret: secret})
	if got := opened(t, Config{Run: "wrun_a", Seed: 2, Secret: secret}); got != a {
		t.Errorf("token = %s with another seed, want %s: it follows from the seed", got, a)
	}
	if opened(t, Config{Run: "wrun_a", Seed: 1, Secret: other}) == a || opened(t, Config{Run: "wrun_b", Seed: 1, Secret: secret}) == a {
		t.Errorf("with another secret, or in another run, the token is the same, %s", a)
	}
	if len(a) < 26 {
		t.Errorf("token %q has %d characters, want 26 of 5 bits", a, len(a))
	}
}

// TestRecordedTokensStand: whatever the secret is, a hook that the log holds has the token of its record, in the turn that opens it already.
func TestRecordedTokensStand(t *testing.T) {
	seen := ""
	body := func(x *Ctx) Outcome {
		h := x.Hook("h", "", nil)
		seen = h.Op().Token
		x.Wait(x.Receive(h))
		return Outcome{}
	}
	first := New(Config{Run: "wrun_a", Created: created, Strict: true, Secret: []byte("one secret")}, body)
	defer first.Close()
	log := []world.Event{{Seq: 1, Type: world.RunStarted, Time: created}}
	if err := first.Feed(log, false); err != nil {
		t.Fatal(err)
	}
	made := first.Asked()[0].Event(created)
	made.Seq, made.Token = 2, "by-an-older-release"
	log = append(log, made)
	m := New(Config{Run: "wrun_a", Created: created, Strict: true, Secret: []byte("another secret")}, body)
	defer m.Close()
	if err := m.Feed(log, false); err != nil {
		t.Fatal(err)
	}
	if seen != made.Token || len(m.Asked()) != 0 {
		t.Errorf("the code saw token %q and asks for %d operations, want %q and none", seen, len(m.Asked()), made.Token)
	}
}

// TestHookWhoseRecordMayStandFartherOn: a machine that knows a part of the log does not make a token up.
func TestHookWhoseRecordMayStandFartherOn(t *testing.T) {
	m := New(Config{Run: "wrun_a", Created: created}, hookBody("", 1))
	defer m.Close()
	results := []world.Event{{Seq: 1, Type: world.RunStarted, Time: created}, {Seq: 2, Type: world.SignalReceived, Name: "s", Time: created}}
	if err := m.Feed(results, true); !errors.Is(err, ErrFurther) {
		t.Errorf("Feed = %v, want ErrFurther", err)
	}
}

func TestSeveralPayloadsComeInOrder(t *testing.T) {
	body := hookBody("", 3)
	l := start(t, body)
	for _, p := range []string{"1", "2", "3"} {
		l.add(world.Event{Type: world.HookReceived, ID: l.id("h", 0), Payload: []byte(p)})
	}
	l.output("<nil>;1 <nil>;2 <nil>;3 <nil>;")
	l.replayed(body)
}

func TestChosenTokenIsDecidedAtItsPlace(t *testing.T) {
	body := hookBody("mine", 1)
	m := New(Config{Run: "wrun_test", Created: created, Seed: 7}, body)
	defer m.Close()
	if err := m.Feed([]world.Event{{Seq: 1, Type: world.RunStarted, Time: created}}, false); err != nil {
		t.Fatal(err)
	}
	e := m.Asked()[0].Event(created)
	e.Seq, e.Type, e.Chosen, e.Peer = 2, world.HookConflict, false, "wrun_holder"
	if err := m.Feed([]world.Event{e}, false); err != nil {
		t.Fatal(err)
	}
	want := `the hook's token is held by run wrun_holder;`
	if m.Outcome() == nil || !strings.HasPrefix(string(m.Outcome().Output), want) {
		t.Errorf("outcome = %+v, want output %s: a receive of a refused hook ends too", m.Outcome(), want)
	}
}

func TestTokenThatTheRunHoldsBinds(t *testing.T) {
	body := func(x *Ctx) Outcome {
		a, b := x.Hook("a", "tok", nil), x.Hook("b", "tok", nil)
		x.Wait(b)
		f := x.Receive(b)
		x.Wait(f)
		first := string(f.Payload())
		_ = x.Dispose(a)
		again := x.Hook("c", "tok", nil) // it is free: another hook
		x.Wait(again)
		return Outcome{Output: fmt.Appendf(nil, "%v %s %v", a.Op() == b.Op(), first, again.Op() == a.Op())}
	}
	l := start(t, body)
	l.add(world.Event{Type: world.HookReceived, ID: l.id("a", 0), Payload: []byte("1")})
	l.output("true 1 false")
	l.replayed(body)
}

func TestContinuedSegmentStartsFromHooksAndUnread(t *testing.T) {
	cfg := Config{
		Run: "wrun_test", Created: created, Seed: 7, Segment: 1,
		Hooks: []*world.Hook{{ID: "hook_1", Token: "tok", Chosen: true, Key: world.Key{Kind: world.KindHook, Name: "h"}}},
		Unread: []world.Event{
			{Seq: 3, Type: world.SignalReceived, Name: "go", Payload: []byte(`1`)}, {Seq: 4, Type: world.HookReceived, ID: "hook_1", Payload: []byte(`2`)},
			{Seq: 5, Type: world.SignalReceived, Name: "go", Payload: []byte(`3`)},
		},
	}
	m := New(cfg, func(x *Ctx) Outcome {
		h := x.Hook("other name", "tok", nil)
		p, s := x.Receive(h), x.Event("go", nil, 0, false)
		return Outcome{Output: fmt.Appendf(nil, "%s %s", p.Payload(), s.Payload())}
	})
	defer m.Close()
	if err := m.Feed([]world.Event{{Seq: 9, Type: world.RunContinued, Time: created}}, false); err != nil {
		t.Fatal(err)
	}
	if got, want := string(m.Outcome().Output), "2 1"; got != want {
		t.Errorf("output = %s, want %s", got, want)
	}
	if got, want := m.unreadSeqs(), "event 5"; got != want {
		t.Errorf("unread = %s, want %s", got, want)
	}
}

func TestCancelReachesAReceiveBelowItsHooksScope(t *testing.T) {
	body := func(x *Ctx) Outcome {
		h := x.Hook("h", "", nil)
		i, err := x.Items(2, 0, func(x *Ctx, i int) error {
			if i == 1 {
				return fmt.Errorf("no: %s", step(x, "s"))
			}
			f := x.Receive(h)
			x.Wait(f)
			return f.Err()
		})
		f := x.Receive(h) // the cancelled receive must not swallow this
		x.Wait(f)
		return Outcome{Output: fmt.Appendf(nil, "%d %v %s", i, err, f.Payload())}
	}
	l := start(t, body)
	l.complete("s", 0, "1")
	l.add(world.Event{Type: world.HookReceived, ID: l.id("h", 0), Payload: []byte("2")})
	l.output("1 no: 1 2")
	l.replayed(body)
}
