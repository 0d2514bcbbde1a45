package crypt_test

import (
	"bytes"
	"cmp"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/stepwell/stepwell/internal/crypt"
	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/memory"
)

// What is published is encrypted at rest, for its topic, and in each queue that it goes to anew. Filters see it all the
// same. Who has not its key leaves it to others, and who has another key under its ID sets nothing aside.
func TestPublicationsAreEncrypted(t *testing.T) {
	t.Parallel()
	below := memory.New()
	keys := ring(t, own)
	w := crypt.Wrap(below, keys)
	topics, queues := w.Topics(), w.Messages()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(queues.DeclareQueue(t.Context(), world.MessageQueue{Name: "q"}))
	sent, err := topics.Publish(t.Context(), []world.Publication{{Topic: "a", Payload: []byte(`{"card":"4711"}`)}})
	must(err)
	stored, err := below.Topics().Due(t.Context(), world.DueQuery{Limit: 1})
	must(err)
	if p := stored.Publications[0]; p.Encrypted != own || bytes.Contains(p.Payload, []byte("4711")) {
		t.Fatalf("stored as %s %s", p.Encrypted, p.Payload)
	}

	foreign, err := crypt.Wrap(below, ring(t, "other")).Topics().Due(t.Context(), world.DueQuery{Limit: 1})
	if err != nil || foreign.Publications[0].Encrypted != own || foreign.Publications[0].Damage != "" {
		t.Errorf("without its key: %+v, %v", foreign.Publications, err)
	}
	if wrong, err := crypt.Wrap(below, ring(t, own)).Topics().Due(t.Context(), world.DueQuery{Limit: 1}); !errors.Is(err, world.ErrWrongKey) {
		t.Errorf("with another key under its ID: %+v, %v, want %v", wrong.Publications, err, world.ErrWrongKey)
	}

	due, err := topics.Due(t.Context(), world.DueQuery{Limit: 1})
	must(err)
	p := due.Publications[0]
	if p.Encrypted != "" || p.Damage != "" || !world.Contains(p.Payload, []byte(`{"card":"4711"}`)) {
		t.Fatalf("due: %+v", p)
	}
	done, err := topics.Spread(t.Context(), world.Spread{Revision: due.Revision, Done: []string{sent[0].ID}, Messages: []world.Message{p.Message("q", "")}})
	if must(err); !done {
		t.Fatal("it was not spread")
	}
	hidden, err := below.Messages().PeekMessages(t.Context(), world.PeekQuery{Queue: "q"})
	must(err)
	if m := hidden.Messages[0]; m.Encrypted != own || bytes.Contains(m.Payload, []byte("4711")) || bytes.Equal(m.Payload, stored.Publications[0].Payload) {
		t.Errorf("in its queue it is %s %s", m.Encrypted, m.Payload)
	}
	got, err := queues.ReceiveMessages(t.Context(), world.ReceiveQuery{Queue: "q", Limit: 1})
	must(err)
	if m := got.Messages[0]; m.Damage != "" || !bytes.Equal(m.Payload, p.Payload) {
		t.Errorf("received %+v", m)
	}

	moved := stored.Publications[0] // under another topic it cannot be read
	_, err = below.Topics().Publish(t.Context(), []world.Publication{{Topic: "b", Payload: moved.Payload, Encrypted: moved.Encrypted}})
	must(err)
	if due, err = topics.Due(t.Context(), world.DueQuery{Limit: 1}); err != nil || due.Publications[0].Damage == "" || due.Publications[0].Encrypted == "" {
		t.Errorf("moved to another topic: %+v, %v", due.Publications, err)
	}
}

// Secrets of endpoints are encrypted at rest. Who has the key is told them, who has not is told its ID, and plain ones
// of before are read as they are.
func TestSecretsAreEncrypted(t *testing.T) {
	t.Parallel()
	below := memory.New()
	const secret, older = world.Secret("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"), world.Secret("whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD")
	of := func(w world.World) world.Publisher { return w.Topics() }
	mine, stranger := of(crypt.Wrap(below, ring(t, own))), of(crypt.Wrap(below, ring(t, "other")))
	subscribe := func(s world.Publisher, name string, secrets ...world.Secret) {
		t.Helper()
		due, err := s.Due(t.Context(), world.DueQuery{Limit: 1})
		if err != nil {
			t.Fatal(err)
		}
		sub := world.Subscription{Name: name, Pattern: "#", Endpoint: &world.PostTarget{URL: "https://example.com", Secrets: secrets}}
		if len(due.Subscriptions) > 0 {
			sub.Follow(&due.Subscriptions[0])
		}
		if done, err := s.Spread(t.Context(), world.Spread{Revision: due.Revision, Subscribe: &sub}); err != nil || !done {
			t.Fatal(done, err)
		}
	}
	secrets := func(s world.Publisher, name string) []world.Secret {
		t.Helper()
		all, err := s.Subscriptions(t.Context(), name)
		due, failed := s.Due(t.Context(), world.DueQuery{Limit: 1})
		if err = cmp.Or(err, failed); err != nil || len(all) != 1 {
			t.Fatal(all, err)
		}
		for _, x := range due.Subscriptions {
			if x.Name == name && !slices.Equal(x.Endpoint.Secrets, all[0].Endpoint.Secrets) {
				t.Error("Due and Subscriptions tell different secrets")
			}
		}
		return all[0].Endpoint.Secrets
	}
	subscribe(of(below), "a", older) // before there were keys
	if got := secrets(mine, "a"); !slices.Equal(got, []world.Secret{older}) {
		t.Errorf("a plain one is read as %q", []string{string(got[0])})
	}
	subscribe(mine, "a", secret)
	if got := secrets(mine, "a"); !slices.Equal(got, []world.Secret{secret, older}) {
		t.Errorf("who has the key is told %d secrets", len(got))
	}
	for what, s := range map[string]world.Publisher{"at rest": of(below), "without the key": stranger} {
		for _, x := range secrets(s, "a") {
			if key, text := x.Encrypted(); key != own || strings.Contains(text, string(secret[6:])) {
				t.Errorf("%s it is %q", what, string(x))
			}
			if _, err := x.Key(); err == nil {
				t.Errorf("%s it signs", what)
			}
		}
	}
	before := secrets(of(below), "a")
	subscribe(stranger, "a") // says anew what holds, and of secrets nothing
	if got := secrets(of(below), "a"); !slices.Equal(got, before) {
		t.Error("who has not the key has changed what is encrypted")
	}
	if got := secrets(mine, "a"); !slices.Equal(got, []world.Secret{secret, older}) {
		t.Errorf("who has the key is then told %d secrets", len(got))
	}
}
