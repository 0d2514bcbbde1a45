package stepwell

import (
	"errors"

	"github.com/stepwell/stepwell/internal/engine"
	"github.com/stepwell/stepwell/world"
)

// Patched guards changed code of a workflow, so that runs that are under way keep their old way: it is true for runs that come
// here for the first time, and recorded then; false for those whose log shows that they came by before the change.
//
//	if stepwell.Patched(ctx, "mail-by-letter") {
//		err = letters.Run(ctx, user) // new runs
//	} else {
//		err = mails.Run(ctx, user) // runs that had got further when this was deployed
//	}
//
// One ID is decided once a run (once a segment: see [ContinueAsNew]), at the first call, also in a cancelled part. An ID has 1 to 256 bytes of printable UTF-8; a bad one blocks the run.
func Patched(ctx Context, id string) bool {
	on, err := ctx.x.Patched(id)
	if errors.Is(err, ErrInvalid) {
		panic(engine.Block(world.CodeInternal, err))
	}
	return on
}
