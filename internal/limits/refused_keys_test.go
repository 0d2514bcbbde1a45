package limits_test

import (
	"errors"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stepwell/stepwell/internal/pgtest"
	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/memory"
	"github.com/stepwell/stepwell/world/postgres"
	"github.com/stepwell/stepwell/world/sqlite"
)

// TestRefusedKeys: each store refuses a message for the key of a limit in the same words.
func TestRefusedKeys(t *testing.T) {
	t.Parallel()
	file, err := sqlite.Open(filepath.Join(t.TempDir(), "runs.db"), sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	server, err := postgres.Open(t.Context(), pgtest.URL(t))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = server.Close() }()
	long, bell := strings.Repeat("k", 257), "a\u0007"
	const at, printable = "limit at: key: ", "it has a character that is not printable: use letters, digits, signs and spaces"
	const bytes = "it has 257 bytes: the most is 256: use something shorter, such as an ID or a hash"
	for want, m := range map[string]world.Message{
		at + "the payload has no string, number or boolean at to.id": {Payload: []byte(`{"to":{"id":["ann"]}}`), Keys: map[string]string{"code": "x"}},
		at + "the payload is encrypted, or not JSON: send it by a program that has the queue's definition": {
			Payload: []byte("\xff\x00"), Encrypted: "key-1", Keys: map[string]string{"code": "x"},
		},
		at + bytes:     {Payload: []byte(`{"to":{"id":"` + long + `"}}`), Keys: map[string]string{"code": "x"}},
		at + printable: {Payload: []byte(`{"to":{"id":"a\u0007"}}`), Keys: map[string]string{"code": "x"}},
		"limit code: key: code computes it: send the message by a program that has the queue's definition, or let the limit say where the key stands, with By": {
			Payload: []byte(`{"to":{"id":"ann"}}`),
		},
		"limit code: key: " + bytes:     {Payload: []byte(`{"to":{"id":"ann"}}`), Keys: map[string]string{"code": long}},
		"limit code: key: " + printable: {Payload: []byte(`{"to":{"id":"ann"}}`), Keys: map[string]string{"code": bell}},
	} {
		for name, w := range map[string]world.World{"memory": memory.New(), "sqlite": file, "postgres": server} {
			k := w.Messages()
			if err := k.DeclareQueue(t.Context(), world.MessageQueue{Name: "q", Limits: []world.SaidLimit{
				{Name: "at", Number: 1, Path: "to.id"}, {Name: "code", Number: 1, Computed: true},
			}}); err != nil {
				t.Fatal(err)
			}
			m.Queue = "q"
			_, err := k.SendMessages(t.Context(), []world.Message{m})
			if !errors.Is(err, world.ErrInvalid) || !strings.HasSuffix(err.Error(), "invalid: "+want) {
				t.Errorf("%s, keys %q: got %v, want %q at its end", name, slices.Collect(maps.Keys(m.Keys)), err, want)
			}
		}
	}
}
