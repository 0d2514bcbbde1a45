// Package operate calls operations of package api on an App, in this process: what the REST API,
// the web UI and the command line do, with the same rules. A program needs no server to look at a
// queue, to bring back its dead letters, or to change a limit:
//
//	do := operate.On(app)
//	page, err := api.Do(ctx, do, api.PeekMessagesOp, api.PeekMessages{Queue: "mails", State: "dead"})
//	…
//	_, err = api.Do(ctx, do, api.SetLimitOp, api.SetLimit{Limit: "bank", Number: &number})
package operate

import (
	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/api"
	"github.com/stepwell/stepwell/internal/ops"
)

// On returns a caller of the operations on the database of an App: queues and their messages,
// topics, schedules, limits, holds, and the acts on one run. To show, list and await runs use the
// App. On starts nothing. The caller is safe for concurrent use. Package acting names the person
// who acts.
//
// An operation that only a server has returns [world.ErrInvalid].
func On(app *stepwell.App) api.Caller { return ops.New(app, ops.Options{}) }
