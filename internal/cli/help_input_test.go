package cli

// What a workflow takes, as people see it who start runs, and what they are told where an input does not fit.

import (
	"context"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/server"
	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/sqlite"
)

type parcel struct {
	Customer string `json:"customer"`
	Items    []struct {
		SKU   string `json:"sku"`
		Count uint8  `json:"count"`
	} `json:"items"`
	Gift   bool             `json:"gift,omitempty"`
	At     time.Time        `json:"at"`
	Within time.Duration    `json:"within"`
	Prices map[string]int32 `json:"prices"`
	More   any              `json:"more"`
	Inside *parcel          `json:"inside,omitempty"`
}

func TestHelpInput(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "app.db")
	w, err := sqlite.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	send := stepwell.Define("send-parcel", func(stepwell.Context, parcel) (string, error) { return "sent", nil }, stepwell.Version(3))
	app, err := stepwell.New(w, stepwell.Config{Definitions: []stepwell.Definition{send}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- app.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	})
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for known := (world.Schemas{}); known.Input == nil; <-tick.C {
		if known, err = app.Schemas(t.Context(), "send-parcel", 0); err != nil || t.Context().Err() != nil {
			t.Fatal(err)
		}
	}
	url := serveFile(t, path, server.Options{})
	for _, db := range []string{path, url} {
		code, out, errs := today(t, "", "--db", db, "runs", "start", "send-parcel", "--help-input")
		if code != exitOK {
			t.Fatalf("%s: exit code %d: %s", db, code, errs)
		}
		golden(t, "help-input", errs+out)
		code, schema, errs := today(t, "", "--db", db, "runs", "start", "send-parcel", "--help-input", "--json")
		if code != exitOK || !strings.Contains(schema, `"$defs"`) || !strings.Contains(schema, `"uint8"`) {
			t.Errorf("%s: exit code %d: %s%s", db, code, schema, errs)
		}
		// What it prints can be sent as it is. The server of the test has another day.
		if code, out, errs := today(t, out, "--db", db, "runs", "start", "send-parcel", "-", "--wait"); db == path && (code != exitOK || !strings.Contains(out, `"sent"`)) {
			t.Errorf("%s: the skeleton: exit code %d: %s%s", db, code, out, errs)
		}
		code, _, errs = today(t, "", "--db", db, "runs", "start", "send-parcel", `{"items":[{"count":-1}],"gift":"yes"}`)
		for _, words := range []string{"/items/0/count: expected a whole number from 0 to 255, got -1", `/gift: expected true or false, got the text "yes"`, "runs start send-parcel --help-input"} {
			if code != exitUsage || !strings.Contains(errs, words) {
				t.Errorf("%s: exit code %d, want %d and %q in: %s", db, code, exitUsage, words, errs)
			}
		}
		if code, out, errs := today(t, "", "--db", db, "--json", "runs", "start", "send-parcel", `7`); code != exitUsage || !strings.Contains(out+errs, `"UNFIT"`) {
			t.Errorf("%s: exit code %d, want UNFIT in: %s%s", db, code, out, errs)
		}
		for args, words := range map[string]string{"send-parcel --version 2": "no live worker has version 2", "nothing": "no live worker has workflow nothing"} {
			if code, _, errs := today(t, "", append([]string{"--db", db, "runs", "start", "--help-input"}, strings.Fields(args)...)...); code != exitNotFound || !strings.Contains(errs, words) {
				t.Errorf("%s: %s: exit code %d: %s", db, args, code, errs)
			}
		}
		if code, _, _ := today(t, "", "--db", db, "runs", "start", "send-parcel", "{}", "--help-input"); code != exitUsage {
			t.Errorf("%s: with an input: exit code %d, want %d", db, code, exitUsage)
		}
	}
	page, err := w.Runs(t.Context(), world.RunQuery{})
	if err != nil || len(page.Runs) != 1 {
		t.Errorf("%d runs, %v, want the skeleton alone", len(page.Runs), err)
	}
}
