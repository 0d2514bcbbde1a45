package kit

// What an App says to its database when it begins to run, and says again until it is heard.

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/stepwell/stepwell/world"
)

// Stand makes what stands in the database, what as "the subscription", until it is made, or cannot be: where something
// newer stands, the hint says what to do.
func Stand(ctx context.Context, log *slog.Logger, what, hint string, make func() error) {
	for wait := time.Second; ; wait = min(2*wait, 30*time.Second) {
		err := make()
		switch {
		case err == nil, ctx.Err() != nil:
			return
		case errors.Is(err, world.ErrConflict):
			log.Warn(what+" stays as it is", "error", err, "hint", hint)
			return
		case errors.Is(err, world.ErrInvalid):
			log.Error(what+" cannot be made", "error", err)
			return
		}
		log.Warn(what+" is not made yet", "error", err, "hint", "It is tried again")
		t := time.NewTimer(wait)
		select {
		case <-t.C:
		case <-ctx.Done():
			t.Stop()
			return
		}
	}
}
