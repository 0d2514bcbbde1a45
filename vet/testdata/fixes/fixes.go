// Package fixes has what is repaired.
package fixes

import (
	"context"
	"log/slog"
	"math/rand"
	"time"

	"github.com/stepwell/stepwell"
)

func work() {}

func charge(ctx context.Context, id string, n int) error { return nil }

func flow(ctx stepwell.Context, cents map[string]int) (int, error) {
	begun := time.Now()                  // want `time.Now in workflow code`
	time.Sleep(3 * time.Second)          // want `time.Sleep in workflow code`
	slog.Info("said", "n", 1)            // want `slog.Info in workflow code`
	if time.Since(begun) > time.Minute { // want `time.Since in workflow code`
		return rand.Intn(6), nil // want `rand.Intn in workflow code`
	}
	go work()   // want `a go statement in workflow code`
	go func() { // want `a go statement in workflow code`
		work() // beside
	}()
	for id, n := range cents { // want `stepwell.Do in a range over a map`
		err := stepwell.Do(ctx, "charge", func(ctx context.Context) error { return charge(ctx, id, n) })
		if err != nil {
			return 0, err
		}
	}
	return 0, nil
}
