package stepwell

import (
	"errors"

	"github.com/stepwell/stepwell/internal/engine"
	"github.com/stepwell/stepwell/world"
)

// Patched guards a change of a workflow's code, so that existing runs keep the old code path. It
// returns true, and records that, if the run reaches the call for the first time. It returns false
// if the log shows that the run passed this point before the change.
//
//	if stepwell.Patched(ctx, "mail-by-letter") {
//		err = letters.Run(ctx, user) // new runs
//	} else {
//		err = mails.Run(ctx, user) // runs that had got further when this was deployed
//	}
//
// An ID is decided at its first call, once for each run, or for each segment of a run (see
// [ContinueAsNew]). It is decided in a cancelled part too. An ID has 1 to 256 bytes of printable
// UTF-8; a bad one blocks the run.
func Patched(ctx Context, id string) bool {
	on, err := ctx.x.Patched(id)
	if errors.Is(err, ErrInvalid) {
		panic(engine.Block(world.CodeInternal, err))
	}
	return on
}
