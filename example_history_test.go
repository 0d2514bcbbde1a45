package stepwell_test

// Examples of logs outside of a database: kept, brought to another, and held against new code.

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/keyring"
	"github.com/stepwell/stepwell/world/memory"
)

// recordedNap is the file that App.Export makes of a run that sleeps.
func recordedNap() *bytes.Buffer {
	nap := stepwell.Define("nap", func(ctx stepwell.Context, _ int) (string, error) {
		return "rested", stepwell.Sleep(ctx, "nap", time.Hour)
	})
	app, stop := exampleApp(nap)
	defer stop()
	ctx := context.Background()
	run, _ := nap.Start(ctx, app, 0, stepwell.RunID("nap-1"))
	waitsFor(app, run.ID(), stepwell.WhySleep)
	var file bytes.Buffer
	if err := app.Export(ctx, run.ID(), &file); err != nil {
		panic(err)
	}
	return &file
}

// The log of a run, as lines of JSON.
func ExampleApp_Export() {
	greet := stepwell.Define("greet", func(_ stepwell.Context, name string) (string, error) { return "hello " + name, nil })
	app, stop := exampleApp(greet)
	defer stop()
	ctx := context.Background()
	run, _ := greet.Start(ctx, app, "ann")
	_, _ = run.Result(ctx)
	var file bytes.Buffer // or a file
	err := app.Export(ctx, run.ID(), &file)
	fmt.Println(bytes.Count(file.Bytes(), []byte("\n")), err) // a head, three events, an end
	// Output: 5 <nil>
}

// A run comes to another database. It is paused there until somebody says that it is to go on.
func ExampleApp_Import() {
	app, stop := exampleApp()
	defer stop()
	ctx := context.Background()
	for h, err := range stepwell.ReadHistories(recordedNap()) {
		if err != nil {
			panic(err)
		}
		fmt.Println(app.Import(ctx, h, stepwell.ImportOptions{}))
	}
	why, err := app.Why(ctx, "nap-1")
	fmt.Println(why.Kind, why.Reason, err)
	// Output:
	// <nil>
	// paused imported <nil>
}

// Tomorrow's code, held against the log of a run of today: no database, and no step runs.
func ExampleApp_Check() {
	histories := recordedNap()
	changed := stepwell.Define("nap", func(ctx stepwell.Context, _ int) (string, error) {
		return "rested", stepwell.Sleep(ctx, "siesta", time.Hour)
	})
	app, _ := stepwell.New(memory.New(), stepwell.Config{Definitions: []stepwell.Definition{changed}})
	for h, err := range stepwell.ReadHistories(histories) {
		if err != nil {
			panic(err)
		}
		fmt.Println(app.Check(context.Background(), h) != nil)
	}
	// Output: true
}

// An export keeps encrypted what is encrypted, for a reader with the key; Decrypted writes it in plain text.
func ExampleDecrypted() {
	key, _ := keyring.NewKey("2026")
	ring, _ := keyring.New(key)
	ctx, w := context.Background(), memory.New()
	defer func() { _ = w.Close() }()
	app, err := stepwell.New(w, stepwell.Config{Encryption: ring})
	if err != nil {
		fmt.Println(err)
		return
	}
	run, _ := app.Start(ctx, "pay", json.RawMessage(`{"card":"4111 1111 1111 1111"}`))
	var kept, plain strings.Builder
	fmt.Println(app.Export(ctx, run.ID(), &kept), app.Export(ctx, run.ID(), &plain, stepwell.Decrypted()))
	fmt.Println(strings.Contains(kept.String(), "1111 1111"), strings.Contains(plain.String(), "1111 1111"))
	// Output:
	// <nil> <nil>
	// false true
}

// A run whose input has over 1 MiB comes to another database with it.
func ExampleWithValues() {
	ctx, w, elsewhere := context.Background(), memory.New(), memory.New()
	defer func() { _, _ = w.Close(), elsewhere.Close() }()
	app, _ := stepwell.New(w, stepwell.Config{})
	other, _ := stepwell.New(elsewhere, stepwell.Config{})
	run, err := app.Start(ctx, "read", json.RawMessage(`"`+strings.Repeat("a long letter ", 1<<17)+`"`))
	if err != nil {
		fmt.Println(err)
		return
	}
	var file bytes.Buffer
	fmt.Println(app.Export(ctx, run.ID(), &file, stepwell.WithValues()))
	for h, err := range stepwell.ReadHistories(&file) {
		fmt.Println(h.HasValues(), err, other.Import(ctx, h, stepwell.ImportOptions{}))
	}
	info, _ := other.Get(ctx, run.ID())
	_, size, err := other.OpenValue(ctx, run.ID(), info.InputApart)
	fmt.Println(size, err)
	// Output:
	// <nil>
	// true <nil> <nil>
	// 1835010 <nil>
}
