package behaviour_test

// Values that are kept apart, and leave their database with the run that holds them.

import (
	"bytes"
	"errors"
	"io"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/blob"
	"github.com/stepwell/stepwell/keyring"
	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/memory"
)

// exportAll are the histories of some runs, with their values, in one file.
func exportAll(r *rig, app *stepwell.App, runs []string, opts ...stepwell.ExportOption) string {
	r.Helper()
	var b bytes.Buffer
	for _, run := range runs {
		if err := app.Export(r.ctx, run, &b, append(opts, stepwell.WithValues())...); err != nil {
			r.Fatal(err)
		}
	}
	return b.String()
}

// importAll imports what a file holds, up to the first error.
func importAll(r *rig, app *stepwell.App, file string, o stepwell.ImportOptions) error {
	for h, err := range stepwell.ReadHistories(strings.NewReader(file)) {
		if err == nil {
			err = app.Import(r.ctx, h, o)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// children are the runs that a run started.
func children(r *rig, run string) (ids []string) {
	for _, e := range r.events(run) {
		if e.Type == world.StepCreated && e.Kind == world.KindChild {
			ids = append(ids, e.Peer)
		}
	}
	return ids
}

// holding is how many runs of a world hold values.
func holding(r *rig, w world.World) (n int64) {
	r.Helper()
	keys, err := w.Values().ValueKeys(r.ctx)
	if err != nil {
		r.Fatal(err)
	}
	for _, k := range keys {
		n += k.Runs
	}
	return n
}

// TestValuesComeWithTheirRuns: a run and its child, which hold the same blobs, come to another database, whichever is
// first; a run that sleeps goes on there, and all of its steps read what others have made.
func TestValuesComeWithTheirRuns(t *testing.T) {
	t.Parallel()
	everyWay(t, func(r *rig) {
		b, long := newBlobs(world.ApartPiece*3/2), strings.Repeat("long", 300<<10)
		inner := stepwell.Define("long-child", func(stepwell.Context, int) (string, error) { return long, nil })
		outer := stepwell.Define("long", func(ctx stepwell.Context, n int) (string, error) { return inner.Child().Run(ctx, n) })
		defs := append(b.definitions(), inner, outer)
		app := r.begin(defs...)
		in, err := blob.Put(r.ctx, app.App, "mine", noise(0, b.size))
		if err != nil {
			r.Fatal(err)
		}
		run, err := b.run.Start(r.ctx, app.App, parcel{Files: []blob.Ref{in}}, stepwell.RunID("mine"))
		if err != nil {
			r.Fatal(err)
		}
		r.pass(30 * time.Second) // it sleeps
		asleep := exportAll(r, app.App, []string{"mine"}, stepwell.Decrypted())
		if _, err := run.Result(r.ctx); err != nil {
			r.Fatal(err)
		}
		text, err := outer.Start(r.ctx, app.App, 1)
		if err != nil {
			r.Fatal(err)
		}
		if _, err := text.Result(r.ctx); err != nil {
			r.Fatal(err)
		}
		all := append(append(children(r, "mine"), "mine", text.ID()), children(r, text.ID())...)
		if len(all) < 4 {
			r.Fatalf("runs %v", all)
		}
		file := exportAll(r, app.App, all, stepwell.Decrypted())

		check := func(r *rig, app *stepwell.App) {
			r.Helper()
			got, err := b.run.Get(app, "mine").Result(r.ctx)
			if err != nil || len(got.Files) != 4 {
				r.Fatalf("%+v, %v", got, err)
			}
			for i, ref := range got.Files {
				r.wantsBlob(app, "mine", ref, uint64(i), b.size)
			}
		}
		elsewhere := func() (*rig, *worker) {
			other := *r
			other.world = memory.New()
			return &other, other.begin(defs...)
		}
		other, to := elsewhere()
		if err := importAll(other, to.App, file, stepwell.ImportOptions{}); err != nil {
			r.Fatal(err)
		}
		check(other, to.App)
		if got, err := outer.Get(to.App, text.ID()).Result(r.ctx); err != nil || got != long {
			r.Errorf("%d bytes, %v", len(got), err)
		}
		if err := importAll(other, to.App, file, stepwell.ImportOptions{}); !errors.Is(err, stepwell.ErrRunExists) {
			r.Errorf("imported again: %v", err)
		}
		to.stop(r.T)
		other, to = elsewhere()
		if err := importAll(other, to.App, asleep, stepwell.ImportOptions{Go: true}); err != nil {
			r.Fatal(err)
		}
		check(other, to.App)
		to.stop(r.T)
	})
}

// TestDamagedValuesAreNotImported: what is not what the log says of it is refused, and nothing was written.
func TestDamagedValuesAreNotImported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &rig{T: t, world: memory.New(), ctx: t.Context(), mode: func(*stepwell.Config) {}}
		app := r.begin(bigEcho)
		run, err := bigEcho.Start(r.ctx, app.App, strings.Repeat("s", 2<<20))
		if err != nil {
			t.Fatal(err)
		}
		want(r, run, 2<<20)
		lines := strings.SplitAfter(exportAll(r, app.App, []string{run.ID()}), "\n")
		pieces := slices.IndexFunc(lines, func(s string) bool { return strings.HasPrefix(s, `{"value"`) })
		if pieces < 0 || !strings.Contains(lines[pieces+1], `"piece":2`) {
			t.Fatalf("no pieces in %d lines", len(lines))
		}
		log := strings.Join(lines[:pieces], "")
		end := lines[len(lines)-2]
		rest := strings.Join(lines[pieces:len(lines)-2], "")
		data := regexp.MustCompile(`"data":"(....)`)
		for what, test := range map[string]struct {
			file string
			want error
			says string
		}{
			"a piece was changed":    {log + data.ReplaceAllString(lines[pieces], `"data":"AAAA`) + strings.Join(lines[pieces+1:], ""), world.ErrCorrupt, "valu_"},
			"a piece is missing":     {log + strings.Join(lines[pieces+1:], ""), stepwell.ErrInvalid, "piece 2 instead of piece 1"},
			"the last is missing":    {log + strings.Join(lines[pieces:len(lines)-3], "") + end, world.ErrCorrupt, "is not there"},
			"a value is missing":     {log + end, stepwell.ErrInvalid, "the file was changed"},
			"an event behind values": {log + rest + lines[pieces-1] + end, stepwell.ErrInvalid, "the end"},
			"it is cut off":          {log + rest, stepwell.ErrInvalid, "cut off"},
			"without values":         {strings.Replace(log, `{"history":2`, `{"history":1`, 1) + end, stepwell.ErrInvalid, "export the run with its values"},
			"values of format 1":     {strings.Replace(log, `{"history":2`, `{"history":1`, 1) + rest + end, stepwell.ErrInvalid, "neither event"},
			"no ID":                  {log + strings.Replace(rest, "valu_", "valo_", 1) + end, stepwell.ErrInvalid, "valu_"},
		} {
			other := *r
			other.world = memory.New()
			to, err := stepwell.New(other.world, stepwell.Config{})
			if err != nil {
				t.Fatal(err)
			}
			if err := importAll(&other, to, test.file, stepwell.ImportOptions{}); !errors.Is(err, test.want) || !strings.Contains(err.Error(), test.says) {
				t.Errorf("%s: got %v, want %v that says %q", what, err, test.want, test.says)
			}
			if _, err := to.Get(r.ctx, run.ID()); !errors.Is(err, stepwell.ErrNotFound) || holding(&other, other.world) != 0 {
				t.Errorf("%s: something was written: %v, %d runs hold values", what, err, holding(&other, other.world))
			}
		}
		// Values are there as long as the history is looked at.
		var late *stepwell.History
		for h, err := range stepwell.ReadHistories(strings.NewReader(strings.Join(lines, ""))) {
			if err != nil {
				t.Fatal(err)
			}
			late = h
		}
		to, err := stepwell.New(memory.New(), stepwell.Config{})
		if err != nil {
			t.Fatal(err)
		}
		if err := to.Import(r.ctx, late, stepwell.ImportOptions{}); !errors.Is(err, stepwell.ErrInvalid) || !strings.Contains(err.Error(), "until the next is read") {
			t.Errorf("imported late: %v", err)
		}
	})
}

// TestEncryptedValuesAreImported: values of an encrypted run stay encrypted in a file, and need the key; decrypted on
// demand, they need none. What they are encrypted with at their new place is the key of new runs there.
func TestEncryptedValuesAreImported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &rig{T: t, world: memory.New(), ctx: t.Context(), mode: func(*stepwell.Config) {}}
		k := keys(t, "k1", "k2")
		b := newBlobs(world.ApartPiece * 3 / 2)
		app := r.beginWith(stepwell.Config{Definitions: b.definitions(), Encryption: ringOf(t, k["k1"])})
		text := "many words, many words"
		in, err := blob.Put(r.ctx, app.App, "mine", io.MultiReader(strings.NewReader(text), noise(0, b.size)))
		if err != nil {
			t.Fatal(err)
		}
		run, err := b.child.Start(r.ctx, app.App, parcel{Files: []blob.Ref{in}}, stepwell.RunID("mine"))
		if err != nil {
			t.Fatal(err)
		}
		made, err := run.Result(r.ctx)
		if err != nil {
			t.Fatal(err)
		}
		secret, plain := exportAll(r, app.App, []string{"mine"}), exportAll(r, app.App, []string{"mine"}, stepwell.Decrypted())
		for _, test := range []struct {
			file string
			ring *keyring.Ring
			want error
		}{
			{secret, nil, stepwell.ErrNoKey}, {secret, ringOf(t, k["k2"]), stepwell.ErrNoKey}, {secret, ringOf(t, keys(t, "k1")["k1"]), stepwell.ErrWrongKey},
			{secret, ringOf(t, k["k2"], k["k1"]), nil}, {plain, nil, nil}, {plain, ringOf(t, k["k2"]), nil},
		} {
			w := memory.New()
			to, err := stepwell.New(w, stepwell.Config{Definitions: b.definitions(), Encryption: test.ring})
			if err != nil {
				t.Fatal(err)
			}
			other := *r
			if other.world = w; !errors.Is(importAll(&other, to, test.file, stepwell.ImportOptions{}), test.want) {
				t.Errorf("keys %v: got %v, want %v", test.ring, err, test.want)
			}
			if test.want != nil {
				continue
			}
			other.wantsBlob(to, "mine", made.Files[1], 3, b.size)
			all, err := w.Values().ValueKeys(r.ctx)
			want := ""
			if test.ring != nil {
				want = "k2"
			}
			if err != nil || len(all) != 1 || all[0].Key != want {
				t.Errorf("keys %v: values have %v, %v, want %q", test.ring, all, err, want)
			}
		}
	})
}
