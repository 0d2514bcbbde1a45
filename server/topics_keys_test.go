package server

// Secrets of endpoints, where keys come and go.

import (
	"slices"
	"testing"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/internal/courier"
	"github.com/stepwell/stepwell/internal/spread"
	"github.com/stepwell/stepwell/keyring"
	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/memory"
)

// TestRotateWhereTheKeyIsGone: one rotation is enough, as nobody could ever read the secret before; where that can be
// read, or whoever rotates has no keys, it stays.
func TestRotateWhereTheKeyIsGone(t *testing.T) {
	key := func(id string) keyring.Key {
		k, err := keyring.NewKey(id)
		if err != nil {
			t.Fatal(err)
		}
		return k
	}
	old, today := key("k1"), key("k2")
	w := memory.New()
	on := func(ring *keyring.Ring) *spread.Spreader {
		app, err := stepwell.New(w, stepwell.Config{Encryption: ring})
		if err != nil {
			t.Fatal(err)
		}
		s, err := New(app, Options{})
		if err != nil {
			t.Fatal(err)
		}
		return s.topics.Spread
	}
	with := func(first keyring.Key, others ...keyring.Key) *spread.Spreader {
		ring, err := keyring.New(first, others...)
		if err != nil {
			t.Fatal(err)
		}
		return on(ring)
	}
	secrets := func(s *spread.Spreader) (known []world.Secret, hidden int) {
		sub, err := courier.Find(t.Context(), s, "s")
		if err != nil {
			t.Fatal(err)
		}
		for _, secret := range sub.Endpoint.Secrets {
			if id, _ := secret.Encrypted(); id != "" {
				hidden++
			} else if !slices.Contains(known, secret) {
				known = append(known, secret)
			}
		}
		return known, hidden
	}
	rotate := func(s *spread.Spreader) world.Secret {
		secret, err := courier.Rotate(t.Context(), s, "s")
		if err != nil {
			t.Fatal(err)
		}
		return secret
	}
	first, err := courier.Subscribe(t.Context(), with(old), world.Subscription{Name: "s", Pattern: "#", Endpoint: &world.PostTarget{URL: "https://example.com"}})
	if err != nil {
		t.Fatal(err)
	}
	second := rotate(with(today, old))
	if got, hidden := secrets(with(today, old)); hidden > 0 || !slices.Equal(got, []world.Secret{second, first}) {
		t.Errorf("rotated with both keys: %d hidden, and %d others are not the new one and the one before", hidden, len(got))
	}
	first, err = courier.Subscribe(t.Context(), with(old), world.Subscription{Name: "s", Pattern: "#", Endpoint: &world.PostTarget{URL: "https://example.com", Secrets: []world.Secret{courier.NewSecret()}}})
	if err != nil || first != "" {
		t.Fatal(first, err)
	}
	third := rotate(with(today))
	if got, hidden := secrets(with(today)); hidden > 0 || !slices.Equal(got, []world.Secret{third}) {
		t.Errorf("rotated where the key is gone: %d are hidden, and so nothing is posted; %d others", hidden, len(got))
	}
	fourth := rotate(with(today))
	if got, hidden := secrets(with(today)); hidden > 0 || !slices.Equal(got, []world.Secret{fourth, third}) {
		t.Errorf("and again: %d hidden, %d others: want the new one and the one before", hidden, len(got))
	}
	fifth := rotate(on(nil)) // it has no keys, and others may have them
	if got, hidden := secrets(with(today)); hidden > 0 || !slices.Equal(got, []world.Secret{fifth, fourth}) {
		t.Errorf("rotated without keys: %d hidden, %d others: want the new one and the one before", hidden, len(got))
	}
}
