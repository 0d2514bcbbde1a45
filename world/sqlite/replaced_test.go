package sqlite_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/sqlite"
)

// A worker whose database is deleted under it stops by itself, with an error that says what happened; also while it has nothing to do.
func TestWorkerStopsWhenItsFileIsGone(t *testing.T) {
	t.Parallel()
	for _, suffix := range []string{"", "-worker"} {
		t.Run("runs.db"+suffix, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "runs.db")
			w, err := sqlite.Open(path)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = w.Close() }()
			began, ended := make(chan struct{}), make(chan error, 1)
			greet := stepwell.Define("greet", func(ctx stepwell.Context, name string) (string, error) {
				return stepwell.Step(ctx, "wait", func(ctx context.Context) (string, error) {
					close(began)
					<-ctx.Done()
					ended <- context.Cause(ctx)
					return "", ctx.Err()
				})
			})
			app, err := stepwell.New(w, stepwell.Config{Definitions: []stepwell.Definition{greet}})
			if err != nil {
				t.Fatal(err)
			}
			stopped := make(chan error, 1)
			go func() { stopped <- app.Run(t.Context()) }()
			if _, err := greet.Start(t.Context(), app, "you"); err != nil {
				t.Fatal(err)
			}
			<-began
			if err := os.Remove(path + suffix); err != nil {
				t.Fatal(err)
			}
			if err := <-stopped; !errors.Is(err, world.ErrReplaced) || !strings.Contains(err.Error(), path+suffix+" was deleted or moved") {
				t.Errorf("Run: got %v, want ErrReplaced that says which file", err)
			}
			if cause := <-ended; !errors.Is(cause, world.ErrLeaseLost) {
				t.Errorf("the body's context ended with %v, want ErrLeaseLost", cause)
			}
		})
	}
}
