package stepwell_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/world"
	_ "github.com/stepwell/stepwell/world/memory"
	_ "github.com/stepwell/stepwell/world/sqlite"
)

// Worlds whose packages are linked open by their URL.
func TestOpen(t *testing.T) {
	t.Parallel()
	for _, url := range []string{"memory:", "sqlite:" + filepath.ToSlash(filepath.Join(t.TempDir(), "runs.db"))} {
		w, err := stepwell.Open(t.Context(), url)
		if err != nil {
			t.Errorf("%s: %v", url, err)
			continue
		}
		if _, err := stepwell.New(w, stepwell.Config{}); err != nil {
			t.Errorf("%s: %v", url, err)
		}
		if err := w.Close(); err != nil {
			t.Errorf("%s: %v", url, err)
		}
	}
	if _, err := stepwell.Open(t.Context(), "nosuch://u:p@h/db"); !errors.Is(err, stepwell.ErrInvalid) {
		t.Errorf("got error %v, want ErrInvalid", err)
	}
}

// Without a URL the environment names the database, as it does for the command.
func TestOpenByEnvironment(t *testing.T) {
	t.Chdir(t.TempDir())
	for named, file := range map[string]string{"": "stepwell.db", "sqlite:a.db": "a.db", "b c%20.db": "b c%20.db"} {
		t.Setenv("STEPWELL_DB", named)
		w, err := stepwell.Open(t.Context(), "")
		if err != nil {
			t.Errorf("STEPWELL_DB=%s: %v", named, err)
			continue
		}
		if err := w.Close(); err != nil {
			t.Error(err)
		}
		if _, err := os.Stat(file); err != nil {
			t.Errorf("STEPWELL_DB=%s: %v, want the file there", named, err)
		}
	}
	t.Setenv("STEPWELL_DB", "nosuch://u:p@h/db")
	if _, err := stepwell.Open(t.Context(), ""); !errors.Is(err, stepwell.ErrInvalid) {
		t.Errorf("got error %v, want ErrInvalid", err)
	}
}

// What makes no sense in the environment is refused by New, with its name.
func TestNewRefusesTheEnvironment(t *testing.T) {
	t.Setenv("STEPWELL_DRAIN", "soon")
	w, err := stepwell.Open(t.Context(), "memory:")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = w.Close() }()
	if _, err := stepwell.New(w, stepwell.Config{}); !errors.Is(err, stepwell.ErrInvalid) || !strings.Contains(err.Error(), "STEPWELL_DRAIN") {
		t.Errorf("got error %v, want ErrInvalid that names STEPWELL_DRAIN", err)
	}
}

// TestOpenKnowsDeliveriesAsLongAsTheEnvironmentSays: what makes no sense is refused by its name, and no secret of the URL is told.
func TestOpenKnowsDeliveriesAsLongAsTheEnvironmentSays(t *testing.T) {
	t.Setenv("STEPWELL_KEEP_DELIVERIES", "a while")
	if _, err := stepwell.Open(t.Context(), "memory:"); !errors.Is(err, stepwell.ErrInvalid) || !strings.Contains(err.Error(), "STEPWELL_KEEP_DELIVERIES") {
		t.Errorf("error = %v, want one that names the variable", err)
	}
	world.Register("keeps", keeps{t})
	t.Setenv("STEPWELL_KEEP_DELIVERIES", "7d")
	if _, err := stepwell.Open(t.Context(), "keeps:"); err != nil {
		t.Fatal(err)
	}
}

type keeps struct{ *testing.T }

func (k keeps) Open(_ context.Context, _ string, o world.OpenOptions) (world.World, error) {
	if o.KeepDeliveries != 7*24*time.Hour {
		k.Errorf("deliveries are known for %s, want 7 days", o.KeepDeliveries)
	}
	return nil, nil
}
