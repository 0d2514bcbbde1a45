package docs_test

// What the page for operators promises of settings and backups.

import (
	"context"
	"database/sql"
	"errors"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/sqlite"
)

// TestSettingsAreAllThere holds the table of settings to the struct: its fields, in its order.
func TestSettingsAreAllThere(t *testing.T) {
	t.Parallel()
	_, table, _ := strings.Cut(read(t, "docs/operating.md"), "| field of `Config`")
	table, _, _ = strings.Cut(table, "\n\n")
	var got, want []string
	for _, m := range regexp.MustCompile("(?m)^\\| `(\\w+)` \\|").FindAllStringSubmatch(table, -1) {
		got = append(got, m[1])
	}
	for _, f := range reflect.VisibleFields(reflect.TypeFor[stepwell.Config]()) {
		if f.IsExported() {
			want = append(want, f.Name)
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("the table has %v\nConfig has    %v", got, want)
	}
}

// TestWordsAndCodesAreAllThere holds the page to what App.Why can answer, and to the codes that it lists being real.
func TestWordsAndCodesAreAllThere(t *testing.T) {
	t.Parallel()
	text := read(t, "docs/operating.md")
	for _, kind := range []stepwell.WhyKind{
		stepwell.WhyOver, stepwell.WhyCancelling, stepwell.WhyPaused, stepwell.WhyBlocked, stepwell.WhyDelayed, stepwell.WhyQueued,
		stepwell.WhyNoWorker, stepwell.WhyWorking, stepwell.WhyWorkerLost, stepwell.WhyRetry, stepwell.WhySleep, stepwell.WhyEvent,
		stepwell.WhyCondition, stepwell.WhyTask, stepwell.WhyChild, stepwell.WhyRun, stepwell.WhySuspect, stepwell.WhyHook,
		stepwell.WhyStalled, stepwell.WhyWaiting, stepwell.WhyGathers, stepwell.WhyHeld, stepwell.WhyLimit,
	} {
		if !strings.Contains(text, "`"+string(kind)+"`") {
			t.Errorf("no row for the answer %q", kind)
		}
	}
	for _, code := range []string{
		world.CodeDiverged, world.CodePanic, world.CodeDecode, world.CodeForeign, world.CodeCrashLoop, world.CodeCorrupt, world.CodeFormat,
		world.CodeStorage, world.CodeInternal,
	} {
		if !strings.Contains(text, "\n| `"+code+"` |") {
			t.Errorf("no row for the block %q", code)
		}
	}
}

// TestBackupWhileItRunsGoesOnByItself copies a file whose worker runs, and lets the copy go on.
func TestBackupWhileItRunsGoesOnByItself(t *testing.T) {
	t.Parallel()
	path, backup := filepath.Join(t.TempDir(), "app.db"), filepath.Join(t.TempDir(), "copy.db")
	nap := stepwell.Define("nap", func(ctx stepwell.Context, in string) (string, error) {
		return in, stepwell.Sleep(ctx, "nap", 500*time.Millisecond)
	})
	use := func(path string, f func(ctx context.Context, app *stepwell.App) error) {
		t.Helper()
		w, err := sqlite.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = w.Close() }()
		app, err := stepwell.New(w, stepwell.Config{Definitions: []stepwell.Definition{nap}})
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithTimeout(t.Context(), 20*time.Second)
		defer stop()
		work, drain := context.WithCancel(ctx)
		ended := make(chan error, 1)
		go func() { ended <- app.Run(work) }()
		err = f(ctx, app)
		drain()
		if err := errors.Join(err, <-ended); err != nil {
			t.Fatal(err)
		}
	}
	var id string
	use(path, func(ctx context.Context, app *stepwell.App) error {
		run, err := nap.Start(ctx, app, "rested")
		if err != nil {
			return err
		}
		id = run.ID()
		db, err := sql.Open("sqlite", "file:"+path)
		if err != nil {
			return err
		}
		_, err = db.ExecContext(ctx, "VACUUM INTO '"+backup+"'")
		return errors.Join(err, db.Close())
	})
	use(backup, func(ctx context.Context, app *stepwell.App) error {
		got, err := nap.Get(app, id).Result(ctx)
		if got != "rested" {
			t.Errorf("the copy's run = %q, %v, want rested", got, err)
		}
		return err
	})
}
