package courier

// This file holds what becomes of messages that are to start runs.

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/stepwell/stepwell/internal/engine"
	"github.com/stepwell/stepwell/world"
)

var silent = slog.New(slog.DiscardHandler)

// TestStartVerdicts: how a receive ends, by what a start comes to.
func TestStartVerdicts(t *testing.T) {
	ended := func(cause error) context.Context {
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(cause)
		return ctx
	}
	lost := errors.New("the connection is gone")
	for name, test := range map[string]struct {
		ctx      context.Context // nil: it has not ended
		err      error
		receives int
		want     world.Settlement
		atLeast  time.Duration // of After, where chance adds to it or takes from it
		atMost   time.Duration
	}{
		"started":           {},
		"somebody else's":   {err: world.ErrReceipt},
		"of nobody yet":     {err: ErrNobody, want: world.Settlement{Kind: world.Unread, After: 15 * time.Second, Error: ErrNobody.Error()}},
		"does not fit":      {err: world.ErrInvalid, want: world.Settlement{Kind: world.Bury, Error: world.ErrInvalid.Error()}},
		"too large":         {err: world.ErrTooLarge, want: world.Settlement{Kind: world.Bury, Error: world.ErrTooLarge.Error()}},
		"damaged":           {err: world.ErrCorrupt, want: world.Settlement{Kind: world.Bury, Error: world.ErrCorrupt.Error()}},
		"the store is away": {err: lost, receives: 1, want: world.Settlement{Kind: world.Nack, Error: lost.Error()}, atLeast: 750 * time.Millisecond, atMost: 1250 * time.Millisecond},
		"it is so again":    {err: lost, receives: 4, want: world.Settlement{Kind: world.Nack, Error: lost.Error()}, atLeast: 6 * time.Second, atMost: 10 * time.Second},
		"it stays away":     {err: lost, receives: 900, want: world.Settlement{Kind: world.Nack, Error: lost.Error()}, atLeast: 45 * time.Second, atMost: 75 * time.Second},
		"another has it":    {ctx: ended(world.ErrReceipt), err: context.Canceled, want: world.Settlement{Error: context.Canceled.Error()}},
		"the program ends":  {ctx: ended(engine.ErrDraining), err: context.Canceled, want: world.Settlement{Kind: world.Unread, Error: "before"}},
	} {
		work := Starts(&world.Subscription{Name: "s", Workflow: &world.StartTarget{Name: "w"}}, silent, func(context.Context, *Start) error { return test.err })
		ctx := test.ctx
		if ctx == nil {
			ctx = t.Context()
		}
		got := work.Do(ctx, &world.Message{ID: "m", Receipt: "r", Receives: test.receives, Error: "before"})
		if test.atMost > 0 {
			if got.After < test.atLeast || got.After > test.atMost {
				t.Errorf("%s: it rests for %s, want %s to %s", name, got.After, test.atLeast, test.atMost)
			}
			got.After = 0
		}
		if got.Kind == "" {
			got.Error, test.want.Error = "", "" // nobody reads it
		}
		test.want.Receipt = "r"
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s: -want +got:\n%s", name, diff)
		}
	}
}

// TestStartOf: what a message asks for.
func TestStartOf(t *testing.T) {
	m := world.Message{ID: "mesg_1", Receipt: "r", Payload: []byte(`{"n":7,"empty":""}`), Headers: map[string]string{"clerk": "ann"}}
	for name, test := range map[string]struct {
		target world.StartTarget
		change func(m *world.Message)
		want   *Start
		err    error
	}{
		"by itself": {world.StartTarget{Name: "w", Version: 3}, nil, &Start{Workflow: "w", Version: 3, Key: "mesg_1"}, nil},
		"templates": {world.StartTarget{Name: "w", Key: "k-{payload.n}", Attributes: map[string]string{"by": "{header.clerk}"}}, nil,
			&Start{Workflow: "w", Key: "k-7", Attributes: map[string]any{"by": "ann"}}, nil},
		"no key":       {world.StartTarget{Name: "w", Key: "{payload.empty}"}, nil, nil, world.ErrInvalid},
		"no field":     {world.StartTarget{Name: "w", Key: "{payload.m}"}, nil, nil, world.ErrInvalid},
		"no attribute": {world.StartTarget{Name: "w", Attributes: map[string]string{"by": "{header.m}"}}, nil, nil, world.ErrInvalid},
		"damaged":      {world.StartTarget{Name: "w"}, func(m *world.Message) { m.Damage = "a sum" }, nil, world.ErrCorrupt},
		"encrypted":    {world.StartTarget{Name: "w"}, func(m *world.Message) { m.Encrypted = "k1" }, nil, world.ErrNoKey},
	} {
		of := m
		if test.change != nil {
			test.change(&of)
		}
		if test.want != nil {
			test.want.Input, test.want.Headers, test.want.Receipt = of.Payload, of.Headers, "r"
		}
		got, err := startOf(&test.target, &of)
		if !errors.Is(err, test.err) {
			t.Errorf("%s: got %v, want %v", name, err, test.err)
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s: -want +got:\n%s", name, diff)
		}
	}
}

// TestKeyless: a program without a key leaves messages to those who have it, and where nobody takes them sweeps now and
// then.
func TestKeyless(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		work := Starts(&world.Subscription{Name: "s", Workflow: &world.StartTarget{Name: "w"}}, silent, func(context.Context, *Start) error {
			t.Error("started")
			return nil
		})
		said := ""
		meet := func(step, error string, rests time.Duration, room int) {
			t.Helper()
			s := work.Do(t.Context(), &world.Message{ID: "m", Receipt: "r", Encrypted: "k1", Error: error})
			if s.Kind != world.Unread || s.After != rests {
				t.Errorf("%s: got %+v, want that it rests for %s", step, s, rests)
			}
			said = s.Error
			n, wait := work.Room(8)
			if n != room || (n == 0) != (wait > 0) {
				t.Errorf("%s: room for %d, or in %s, want %d", step, n, wait, room)
			}
		}
		meet("first", "", 0, 0)
		meet("another of the same receive", "", 0, 0)
		time.Sleep(unknownPause)
		if n, wait := work.Room(8); n != 8 || wait != 0 {
			t.Errorf("room for %d, or in %s, when it comes back", n, wait)
		}
		meet("a new one: others took what was there", "it failed", 0, 0)
		time.Sleep(unknownPause)
		meet("one that nobody took", said, sweepTime, 8)
		time.Sleep(time.Second)
		meet("another, behind it", "", sweepTime-time.Second, 8)
		time.Sleep(sweepTime - time.Second)
		meet("one that was received in the sweep", said, 0, 0)
		time.Sleep(unknownPause)
		meet("it was not taken", said, sweepTime, 8)
		time.Sleep(sweepTime + unknownPause)
		meet("a new one again", "", 0, 0)
	})
}

// TestHiddenSecrets: what is shown of a subscription has no secret, and the subscription has it as before.
func TestHiddenSecrets(t *testing.T) {
	s := world.Subscription{Name: "s", Endpoint: &world.PostTarget{URL: "https://example.com", Secrets: []world.Secret{NewSecret()}}}
	if h := Hide(s); h.Endpoint.Secrets != nil || h.Endpoint.URL != s.Endpoint.URL || len(s.Endpoint.Secrets) != 1 {
		t.Errorf("got %+v of %+v", h.Endpoint, s.Endpoint)
	}
	if h := Hide(world.Subscription{Name: "s", Queue: "q"}); h.Queue != "q" {
		t.Errorf("got %+v", h)
	}
	seen := map[world.Secret]bool{}
	for range 100 {
		secret := NewSecret()
		if _, err := secret.Key(); err != nil || seen[secret] {
			t.Fatalf("%s: %v", fmt.Sprintf("%q", string(secret)), err)
		}
		seen[secret] = true
	}
}
