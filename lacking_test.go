package stepwell_test

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/memory"
)

// around is a type around a store that does not say what that can do.
type around struct{ world.World }

// TestAWrapperWithoutAbilitiesIsTold: what it loses is in the log once, and of a whole store nothing is.
func TestAWrapperWithoutAbilitiesIsTold(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		wrap func(world.World) world.World
		want int
	}{
		"a store":           {func(w world.World) world.World { return w }, 0},
		"a type around one": {func(w world.World) world.World { return around{w} }, 1},
	} {
		w := memory.New()
		var log bytes.Buffer
		app, err := stepwell.New(test.wrap(w), stepwell.Config{Logger: slog.New(slog.NewTextHandler(&log, nil))})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if n := strings.Count(log.String(), `lacks="queues, topics, schedules, limits, large values"`); n != test.want || strings.Count(log.String(), "\n") != test.want {
			t.Errorf("%s: the log says %q, want it %d times", name, log.String(), test.want)
		}
		if err := app.Close(); err != nil {
			t.Error(err)
		}
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	}
}
