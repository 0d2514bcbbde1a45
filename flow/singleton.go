package flow

import (
	"fmt"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/internal/kit"
	"github.com/stepwell/stepwell/limit"
	"github.com/stepwell/stepwell/world"
)

// Policy says what happens to a start while a run of its workflow and key is live.
type Policy = world.Single

// What happens to it.
const (
	// Keep keeps the run that is live: there is no new one, and the start returns that run, see [stepwell.Run.Existed].
	Keep = world.SingleKeep
	// Replace cancels the run that is live, so that its code cleans up, and begins the new one when it is over. A start
	// that finds one that waits for this takes its place.
	Replace = world.SingleReplace
)

// Singleton is an option of a workflow: at most one of its runs with the same key is live, from start to end, over all
// processes. Without a key there is one run of the workflow:
//
//	var Sync = stepwell.Define("sync", sync,
//		flow.Singleton(flow.Replace, limit.Key(func(in Shop) string { return in.ID })))
//
// The key is computed when the run is started, by [limit.Key] or [limit.Path]. The run keeps it when it continues as
// new.
//
// Retries, forks and restarts never replace another run: while one is live they are refused with
// [stepwell.ErrRunExists]. A child is never merged into a live run: its step fails with that error. A start in a
// transaction ([stepwell.In]) is refused.
func Singleton(then Policy, opts ...limit.Option) stepwell.WorkflowOption {
	l := kit.Limit{Single: then}
	if then != Keep && then != Replace {
		l.Single = Keep
		l.Fault = fmt.Errorf("%w: singleton mode %.20q: want flow.Keep or flow.Replace", stepwell.ErrInvalid, then)
	}
	if err := kit.Given(opts, func(o limit.Option) { o(&l) }); err != nil && l.Fault == nil {
		l.Fault = err
	}
	return kit.NewLimit(l).(stepwell.WorkflowOption)
}
