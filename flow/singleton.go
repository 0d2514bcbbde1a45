package flow

import (
	"fmt"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/internal/kit"
	"github.com/stepwell/stepwell/limit"
	"github.com/stepwell/stepwell/world"
)

// Policy says what becomes of a start where a run of its workflow and key is live.
type Policy = world.Single

// What becomes of it.
const (
	// Keep keeps the run that is live: there is no new one, and the start returns that run, see [stepwell.Run.Existed].
	Keep = world.SingleKeep
	// Replace cancels the run that is live, so that its code cleans up, and begins the new one when it is over. A start
	// that finds one that waits for this takes its place.
	Replace = world.SingleReplace
)

// Singleton is an option of a workflow: of its runs, at most one of a key is live, which is from its start to its end,
// over all processes. Without a key, it is one of the workflow:
//
//	var Sync = stepwell.Define("sync", sync,
//		flow.Singleton(flow.Replace, limit.Key(func(in Shop) string { return in.ID })))
//
// The key is computed where the run is started, by [limit.Key] or [limit.Path], and the run keeps it, behind a
// continuation too. A retry, a fork and a restart do not take the place of another run, and are refused with
// [stepwell.ErrRunExists] while one is live; so is, as an error of its step, a child that would be merged into a run: a
// stranger is never adopted. A start in a transaction ([stepwell.In]) is refused.
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
