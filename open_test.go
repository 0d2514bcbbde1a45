package stepwell_test

import (
	"errors"
	"path/filepath"
	"testing"

	"github.com/stepwell/stepwell"
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
