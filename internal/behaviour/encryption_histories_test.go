package behaviour_test

// Tests of encryption: histories, which are taken to other databases with and without keys.

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/keyring"
	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/memory"
)

// TestEncryptedHistories: an export keeps payloads encrypted, and a check and an import need the key; decrypted on demand, they need none.
func TestEncryptedHistories(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &rig{T: t, world: memory.New(), ctx: t.Context(), mode: func(*stepwell.Config) {}}
		k := keys(t, "k1", "k2")
		wk := r.withKeys(ringOf(t, k["k1"]))
		run := start(r, wk, confides, "the-input")
		if err := confided.Send(r.ctx, wk.App, run.ID(), "x"); err != nil {
			t.Fatal(err)
		}
		want(r, run, "the-input x")
		wk.stop(t)
		app := func(ring *keyring.Ring) (*stepwell.App, world.World) {
			w := memory.New()
			a, err := stepwell.New(w, stepwell.Config{Definitions: []stepwell.Definition{confides}, Encryption: ring, Strict: true})
			if err != nil {
				t.Fatal(err)
			}
			return a, w
		}
		export := func(a *stepwell.App, opts ...stepwell.ExportOption) (string, error) {
			var b bytes.Buffer
			err := a.Export(r.ctx, run.ID(), &b, opts...)
			return b.String(), err
		}
		file, err := export(wk.App)
		if err != nil || strings.Contains(file, "the-input") || !strings.Contains(file, `"sealed":"k1"`) {
			t.Fatalf("got %s, %v; want it encrypted", file, err)
		}
		plain, err := export(wk.App, stepwell.Decrypted())
		if err != nil || !strings.Contains(plain, "the-input") || strings.Contains(plain, "sealed") {
			t.Fatalf("got %s, %v; want it decrypted", plain, err)
		}
		client, err := stepwell.New(r.world, stepwell.Config{})
		if err != nil {
			t.Fatal(err)
		}
		// Another key under the same ID is not taken for damage, and damage not for another key.
		for what, test := range map[string]struct {
			ring      *keyring.Ring
			damaged   bool
			want, not error
		}{
			"another key":    {ringOf(t, keys(t, "k1")["k1"]), false, stepwell.ErrWrongKey, world.ErrCorrupt},
			"a changed file": {ringOf(t, k["k1"]), true, world.ErrCorrupt, stepwell.ErrWrongKey},
		} {
			a, _ := app(test.ring)
			for h, err := range stepwell.ReadHistories(strings.NewReader(file)) {
				if err != nil {
					t.Fatal(err)
				}
				if last := len(h.Events) - 1; test.damaged {
					h.Events[last].Payload = h.Events[0].Payload
				}
				for _, err := range []error{a.Check(r.ctx, h), a.Import(r.ctx, h, stepwell.ImportOptions{})} {
					if !errors.Is(err, test.want) || errors.Is(err, test.not) || errors.Is(err, stepwell.ErrWrongKey) != strings.Contains(err.Error(), `"k1"`) {
						t.Errorf("%s: got %v, want %v", what, err, test.want)
					}
				}
			}
		}
		if _, err := export(client, stepwell.Decrypted()); !errors.Is(err, stepwell.ErrNoKey) {
			t.Errorf("decrypted without the key: got %v, want ErrNoKey", err)
		}
		for _, test := range []struct {
			file string
			ring *keyring.Ring
			key  string // that the imported run has; "-": refused
		}{
			{file, nil, "-"}, {file, ringOf(t, k["k2"]), "-"}, {file, ringOf(t, k["k2"], k["k1"]), "k2"}, {plain, nil, ""}, {plain, ringOf(t, k["k2"]), "k2"},
		} {
			a, w := app(test.ring)
			for h, err := range stepwell.ReadHistories(strings.NewReader(test.file)) {
				if err != nil {
					t.Fatal(err)
				}
				checked, imported := a.Check(r.ctx, h), a.Import(r.ctx, h, stepwell.ImportOptions{})
				if refused := test.key == "-"; errors.Is(checked, stepwell.ErrNoKey) != refused || errors.Is(imported, stepwell.ErrNoKey) != refused || !refused && (checked != nil || imported != nil) {
					t.Errorf("keys %v: check %v, import %v; want refused %v", test.ring, checked, imported, refused)
				}
			}
			row, err := w.Run(r.ctx, run.ID())
			if test.key == "-" {
				if !errors.Is(err, stepwell.ErrNotFound) {
					t.Errorf("keys %v: got %v, want nothing imported", test.ring, err)
				}
				continue
			}
			if err != nil || row.Encryption != test.key {
				t.Errorf("keys %v: got key %q, %v; want %q", test.ring, row.Encryption, err, test.key)
			}
			if got, err := confides.Get(a, run.ID()).Result(r.ctx); err != nil || got != "the-input x" {
				t.Errorf("keys %v: got %q, %v", test.ring, got, err)
			}
		}
	})
}
