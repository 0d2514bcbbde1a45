package behaviour_test

// Tests of encryption: queued steps, which any worker that has the key may run.

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/memory"
)

// TestATaskWaitsForAWorkerWithTheKey: a worker without the key hands a queued step back, and nothing is failed.
func TestATaskWaitsForAWorkerWithTheKey(t *testing.T) {
	var log bytes.Buffer
	synctest.Test(t, func(t *testing.T) {
		r := &rig{T: t, world: memory.New(), ctx: t.Context(), mode: func(*stepwell.Config) {}}
		echo := stepwell.DefineStep("echo", func(_ context.Context, in string) (string, error) { return in, nil })
		two := stepwell.Define("two", func(ctx stepwell.Context, in string) (string, error) {
			a, b := echo.Start(ctx, in), echo.Start(ctx, in)
			x, err := a.Get(ctx)
			if err != nil {
				return "", err
			}
			y, err := b.Get(ctx)
			return x + y, err
		})
		ring := keysOf(t, "k1")
		coder := r.beginWith(stepwell.Config{Definitions: []stepwell.Definition{two}, Encryption: ring})
		run := start(r, coder, two, "secret-input")
		synctest.Wait()
		blind := r.beginWith(stepwell.Config{Definitions: []stepwell.Definition{echo}, Logger: slog.New(slog.NewTextHandler(&log, nil))})
		r.pass(5 * time.Second)
		if row := r.row(coder.App, run.ID()); row.Status != world.Running {
			t.Fatalf("got status %s, want it to wait", row.Status)
		}
		blind.stop(t)
		r.beginWith(stepwell.Config{Definitions: []stepwell.Definition{echo}, Encryption: ring})
		want(r, run, "secret-inputsecret-input")
	})
	if text := log.String(); !strings.Contains(text, `k1`) || strings.Contains(text, "secret") || strings.Contains(text, "sealed:") {
		t.Errorf("the log is %q, want the key's ID and no payload", text)
	}
}

// tampering is a world in which somebody changes queued steps.
type tampering struct {
	world.World
	change func(t *world.Task)
}

// Claim gives what was changed.
func (w *tampering) Claim(ctx context.Context, q world.ClaimQuery) (world.Claimed, error) {
	claimed, err := w.World.Claim(ctx, q)
	for i := range claimed.Tasks {
		w.change(&claimed.Tasks[i])
	}
	return claimed, err
}

// TestAChangedTaskFailsByName: a queued step whose encrypted input, or key, was changed fails its step with a code, and does not go round for ever.
func TestAChangedTaskFailsByName(t *testing.T) {
	for name, change := range map[string]func(*world.Task){
		"input": func(t *world.Task) { t.Input = append(bytes.Clone(t.Input[:len(t.Input)-6]), []byte(`AAAAA"`)...) },
		"key":   func(t *world.Task) { t.Options = bytes.Replace(t.Options, []byte(`"k1"`), []byte(`"k9"`), 1) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
				defer cancel()
				r := &rig{T: t, world: memory.New(), ctx: ctx, mode: func(*stepwell.Config) {}}
				echo := stepwell.DefineStep("echo", func(_ context.Context, in string) (string, error) { return in, nil })
				one := stepwell.Define("one", func(ctx stepwell.Context, in string) (string, error) {
					_, err := echo.Run(ctx, in)
					failed, ok := errors.AsType[*stepwell.StepError](err)
					if !ok {
						return "", err
					}
					return failed.Code, nil
				})
				ring := keysOf(t, "k1")
				coder := r.beginWith(stepwell.Config{Definitions: []stepwell.Definition{one}, Encryption: ring})
				run := start(r, coder, one, "secret-input")
				r.world = &tampering{r.world, change}
				r.beginWith(stepwell.Config{Definitions: []stepwell.Definition{echo}, Encryption: ring})
				want(r, run, world.CodeCorrupt)
			})
		})
	}
}
