package stepwell_test

// Examples of encryption: keys, and their rotation.

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/world/memory"
)

// A key is made once, and kept where secrets are kept. Its text is what a setting holds.
func ExampleNewEncryptionKey() {
	key, err := stepwell.NewEncryptionKey("2026-11")
	fmt.Println(key, err)
	ring, err := stepwell.ParseKeyring(key.Text())
	fmt.Println(ring, err)
	// Output:
	// key 2026-11 <nil>
	// keys 2026-11 <nil>
}

// The first key is that of new runs. A run keeps its own, so the old one stays until no run is kept that has it.
func ExampleNewKeyring() {
	old, _ := stepwell.NewEncryptionKey("2025")
	now, _ := stepwell.NewEncryptionKey("2026")
	ctx, w := context.Background(), memory.New()
	defer func() { _ = w.Close() }()
	for _, keys := range [][]stepwell.EncryptionKey{{old}, {now, old}} { // before and after the rotation
		ring, err := stepwell.NewKeyring(keys[0], keys[1:]...)
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
func ExampleParseKeyring() {
	ring, err := stepwell.ParseKeyring(`
		2026:MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE= # since November
		2025:YWJjZGVmZ2hpamFiY2RlZmdoaWphYmNkZWZnaGlqYWI=`)
	fmt.Println(ring.Primary(), ring.IDs(), err)
	_, err = stepwell.ParseKeyring("2026:c2hvcnQ=")
	fmt.Println(err)
	// Output:
	// 2026 [2026 2025] <nil>
	// encryption key 1: invalid: key "2026": want the base64 of 32 bytes behind the colon
}

// A worker that takes its keys from the environment: without them it encrypts nothing.
func ExampleKeyringFromEnv() {
	ring, err := stepwell.KeyringFromEnv(os.Getenv)
	if err != nil {
		fmt.Println(err)
		return
	}
	app, err := stepwell.New(memory.New(), stepwell.Config{Encryption: ring})
	fmt.Println(ring == nil, app != nil, err)
	// Output: true true <nil>
}

// A file of keys, as a secret is mounted in a container.
func ExampleReadKeyring() {
	_, err := stepwell.ReadKeyring("no/such/file")
	fmt.Println(err != nil)
	// Output: true
}

// An export keeps encrypted what is encrypted, for a reader with the key; Decrypted writes it in plain text.
func ExampleDecrypted() {
	key, _ := stepwell.NewEncryptionKey("2026")
	ring, _ := stepwell.NewKeyring(key)
	ctx, w := context.Background(), memory.New()
	defer func() { _ = w.Close() }()
	app, err := stepwell.New(w, stepwell.Config{Encryption: ring})
	if err != nil {
		fmt.Println(err)
		return
	}
	run, _ := app.Start(ctx, "pay", json.RawMessage(`{"card":"4111"}`))
	var kept, plain strings.Builder
	fmt.Println(app.Export(ctx, run.ID(), &kept), app.Export(ctx, run.ID(), &plain, stepwell.Decrypted()))
	fmt.Println(strings.Contains(kept.String(), "4111"), strings.Contains(plain.String(), "4111"))
	// Output:
	// <nil> <nil>
	// false true
}
