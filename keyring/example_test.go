package keyring_test

// Examples of encryption: keys, and their rotation.

import (
	"context"
	"encoding/json"
	"fmt"
	"os"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/keyring"
	"github.com/stepwell/stepwell/world/memory"
)

// A key is made once, and kept where secrets are kept. Its text is what a setting holds.
func ExampleNewKey() {
	key, err := keyring.NewKey("2026-11")
	fmt.Println(key, err)
	ring, err := keyring.Parse(key.Text())
	again, ok := ring.Key("2026-11")
	fmt.Println(ring, again == key, ok, err)
	// Output:
	// key 2026-11 <nil>
	// keys 2026-11 true true <nil>
}

// The first key is that of new runs. A run keeps its own, so the old one stays until no run is kept that has it.
func ExampleNew() {
	old, _ := keyring.NewKey("2025")
	now, _ := keyring.NewKey("2026")
	ctx, w := context.Background(), memory.New()
	defer func() { _ = w.Close() }()
	for _, keys := range [][]keyring.Key{{old}, {now, old}} { // before and after the rotation
		ring, err := keyring.New(keys[0], keys[1:]...)
		if err != nil {
			fmt.Println(err)
			return
		}
		app, err := stepwell.New(w, stepwell.Config{Encryption: ring})
		if err != nil {
			fmt.Println(err)
			return
		}
		run, _ := app.Start(ctx, "pay", json.RawMessage(`{"card":"4111"}`))
		row, _ := app.Get(ctx, run.ID())
		fmt.Println(row.Encryption, string(row.Input))
	}
	// Output:
	// 2025 {"card":"4111"}
	// 2026 {"card":"4111"}
}

// Keys as a setting holds them: the key of new runs, and those of runs that were started before. An error says which one is wrong, and shows none.
func ExampleParse() {
	ring, err := keyring.Parse(`
		2026:MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE= # since November
		2025:YWJjZGVmZ2hpamFiY2RlZmdoaWphYmNkZWZnaGlqYWI=`)
	fmt.Println(ring.Primary(), ring.IDs(), ring.Has("2024"), err)
	_, err = keyring.Parse("2026:c2hvcnQ=")
	fmt.Println(err)
	// Output:
	// 2026 [2026 2025] false <nil>
	// encryption key 1: invalid: key "2026": want the base64 of 32 bytes behind the colon
}

// A worker that takes its keys from the environment: without them it encrypts nothing.
func ExampleFromEnv() {
	ring, err := keyring.FromEnv(os.Getenv)
	if err != nil {
		fmt.Println(err)
		return
	}
	app, err := stepwell.New(memory.New(), stepwell.Config{Encryption: ring})
	fmt.Println(ring == nil, app != nil, err)
	// Output: true true <nil>
}

// A file of keys, as a secret is mounted in a container.
func ExampleRead() {
	_, err := keyring.Read("no/such/file")
	fmt.Println(err != nil)
	// Output: true
}
