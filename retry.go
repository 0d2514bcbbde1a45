package stepwell

// New runs in the place of failed ones: what a retry does, and when there is none.

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/stepwell/stepwell/internal/history"
	"github.com/stepwell/stepwell/world"
)

// RetryAdvice says what [App.Retry] does with a run, or why it refuses and what to do instead.
type RetryAdvice struct {
	// At is the number of the last event that the new run takes over. Of later events the new run
	// gets results that were requested before At.
	At int64 `json:"at,omitempty"`
	// Steps are the names of the steps that failed the run and run again. Empty: only the
	// workflow's code runs again.
	Steps []string `json:"steps,omitempty"`
	// Anew means that the run had timed out, and that the new run gets its whole timeout again.
	Anew bool `json:"anew,omitempty"`

	// Healed are the names of steps that failed because another run failed. That run, or its newest
	// replacement, has completed since, so the steps now succeed.
	Healed []string `json:"healed,omitempty"`
	// Results are the new results of the healed steps, by step ID.
	Results map[string]json.RawMessage `json:"-"`

	Refused string `json:"refused,omitempty"` // why there is no retry; "": there is one
	Child   string `json:"child,omitempty"`   // ID of the failed child to retry instead
	// ID of the failed run that was awaited, to retry instead
	Awaited string `json:"awaited,omitempty"`

	// Peer is the newest replacement of Child or Awaited, if that still runs or was cancelled: a
	// retry would not help. PeerIs says which.
	Peer string `json:"peer,omitempty"`
	// PeerIs is a status, or blocked, or paused.
	PeerIs string `json:"peerIs,omitempty"`

	// ID of the run that the advice is about, if it replaced the one asked for
	Newest string `json:"newest,omitempty"`
	Result string `json:"result,omitempty"` // the step to which a fork could give a result
	// Fork is the number of an event. A fork after it takes the risk that Refused names. 0: none.
	Fork    int64 `json:"fork,omitempty"`
	Restart bool  `json:"restart,omitempty"` // the run can be restarted
	// Undone names the undo functions that ran. A fork from before them continues without what they
	// undid.
	Undone string `json:"undone,omitempty"`
	// Input means that the run's input does not fit: a restart or a fork needs another.
	Input bool `json:"input,omitempty"`
}

// Does describes in a sentence what a retry does.
func (r *RetryAdvice) Does() string { return (*history.Retry)(r).Does() }

// Instead describes in a sentence what to do if there is no retry; "": nothing.
func (r *RetryAdvice) Instead() string { return (*history.Retry)(r).Instead() }

// RetryRefusedError says why [App.Retry] refused. It matches [ErrInvalid].
type RetryRefusedError struct {
	Run    string      // ID of the run that was to be retried
	Advice RetryAdvice // what to do instead
}

func (e *RetryRefusedError) Error() string {
	s := e.Advice.Refused
	if instead := e.Advice.Instead(); instead != "" {
		s += "; instead: " + instead
	}
	return s
}

// Is matches [ErrInvalid].
func (e *RetryRefusedError) Is(target error) bool { return target == ErrInvalid }

// Retry continues a failed run from where it failed, in a new run. No completed step runs again,
// and none is left out.
//
//   - If steps failed the run (its error wraps theirs), these steps run again, with all attempts of
//     their [Retry].
//   - If the code failed, or the error names no step, the code runs again from the last event. That
//     helps if you have fixed the code.
//   - If the run timed out, it continues from before that, and has its whole timeout again.
//
// In the new run all steps have new idempotency keys. A system that saw the old key takes the step
// for a new request. For a step that must not act twice, such as a payment, use a key of your own,
// such as the order's number.
//
// The new run takes over events. It takes over a result that arrived after the failure only if the
// failed run had asked for it.
//
// The new run replaces the failed one. A start with the failed run's key, and a wait for its
// result, get the new run: see [App.Newest]. The failed run does not change.
//
// Retry can be repeated: a second call returns the same new run, and [Run.Existed] reports that. If
// the new run failed too, the call retries that one. If a parent failed because its child did,
// retry the child first. Once the new run has completed, retry the parent: it continues with that
// result.
//
// Retry is refused with a [*RetryRefusedError], which says what to do instead, if
//
//   - undo functions have undone what the run did, or the run's input did not fit;
//   - steps completed or children began after the failure, because the new run would leave them
//     out;
//   - a child had begun and did not complete, or a step did its work and its result could not be
//     kept;
//   - the run failed because of another run that it awaited. But if that one was retried and has
//     completed since, the new run gets its result;
//   - another run now holds the token of an open hook;
//   - the run completed, was cancelled or is not over.
//
// [App.RetryAdvice] tells you beforehand. For a cancelled run use [App.Restart] with InPlace.
func (a *App) Retry(ctx context.Context, run string) (*Run[json.RawMessage], error) {
	newest, err := a.Newest(ctx, run)
	if err != nil {
		return nil, fmt.Errorf("retry run %s: %w", run, err)
	}
	if newest.ID != run && newest.Status != world.Failed && newest.Status != world.Cancelled {
		return &Run[json.RawMessage]{app: a, id: newest.ID, existed: true}, nil
	}
	retried, err := a.retry(ctx, run, &newest)
	if err != nil {
		return nil, fmt.Errorf("retry run %s: %w", run, err)
	}
	return retried, nil
}

// retry begins a new run in the place of the newest that has the place of a run.
func (a *App) retry(ctx context.Context, run string, newest *RunInfo) (*Run[json.RawMessage], error) {
	h, err := a.history(ctx, newest.ID, 0)
	if err != nil {
		return nil, err
	}
	for try := 0; ; try++ {
		advice, err := adviseOn(ctx, a, run, newest, h)
		if err != nil {
			return nil, err
		}
		if advice.Refused != "" {
			return nil, &RetryRefusedError{Run: run, Advice: advice}
		}
		retried, err := a.fork(ctx, h, history.Cut{
			At: advice.At, Key: world.RetryKey(h.Run), Late: true, Anew: advice.Anew, Results: advice.Results,
		})
		if !errors.Is(err, world.ErrConflict) || try == tokenTries { // a run that has just taken a token may be the retry itself
			return retried, err
		}
	}
}

// RetryAdvice says what [App.Retry] would do with a run now. If another run replaced it, the advice
// is about that one: see RetryAdvice.Newest. It reads the whole log.
func (a *App) RetryAdvice(ctx context.Context, run string) (RetryAdvice, error) {
	advice, err := a.adviseOf(ctx, &history.History{Run: run})
	if err != nil {
		return RetryAdvice{}, fmt.Errorf("advise on a retry of run %s: %w", run, err)
	}
	return advice, nil
}

// adviseOf says what a retry of a run would do, of the newest in its place. A history without events was not read yet.
func (a *App) adviseOf(ctx context.Context, h *history.History) (RetryAdvice, error) {
	run := h.Run
	newest, err := a.Newest(ctx, run)
	if err == nil && (newest.ID != run || len(h.Events) == 0) {
		h, err = a.history(ctx, newest.ID, 0)
	}
	if err != nil {
		return RetryAdvice{}, err
	}
	return adviseOn(ctx, a, run, &newest, h)
}

// adviseOn says what a retry of a run would do, where newest has its place and that history.
func adviseOn(ctx context.Context, a *App, run string, newest *RunInfo, h *history.History) (advice RetryAdvice, err error) {
	switch {
	case newest.driven():
		return RetryAdvice{Refused: "its code runs in an app of Workflow DevKit, and only the app starts its runs: call start() there"}, nil
	case newest.ID == run:
		return a.advise(ctx, h)
	case newest.Status == world.Failed:
		advice, err = a.advise(ctx, h)
	default:
		advice = RetryAdvice{Refused: fmt.Sprintf("run %s replaced it, and is %s", newest.ID, standing(newest)), Restart: newest.Status == world.Cancelled}
	}
	advice.Newest = newest.ID
	return advice, err
}

// heal is what a retry of a history's run would do with the results of the runs that took the place of those that failed it.
func heal(ctx context.Context, a *App, h *history.History) (RetryAdvice, error) {
	healed := map[string]json.RawMessage{}
	for {
		advice := RetryAdvice(h.Retry(healed))
		run := cmp.Or(advice.Child, advice.Awaited)
		if _, known := healed[run]; run == "" || known {
			return advice, nil
		}
		newest, err := a.Newest(ctx, run)
		switch {
		case errors.Is(err, ErrNotFound):
			return advice, nil
		case err != nil:
			return advice, err
		case newest.Status == world.Completed && newest.Output != nil:
			output, err := wholeOf(ctx, a.world.Values(), newest.ID, newest.Output, newest.OutputApart)
			if err != nil {
				return advice, err
			}
			healed[run] = output
		case newest.Status == world.Cancelled, !newest.Status.Terminal():
			if advice.Peer, advice.PeerIs = newest.ID, standing(&newest); newest.ID != run {
				advice.Refused += fmt.Sprintf("; run %s, which replaced it, is %s", newest.ID, advice.PeerIs)
			}
			return advice, nil
		default:
			return advice, nil
		}
	}
}

// advise says what a retry of a history's run would do. The history needs no payloads.
func (a *App) advise(ctx context.Context, h *history.History) (RetryAdvice, error) {
	advice, err := heal(ctx, a, h)
	if err != nil || advice.Refused != "" {
		return advice, err
	}
	for _, t := range h.Tokens(advice.At) {
		holder, err := a.holder(ctx, t.Token)
		if err != nil {
			return advice, err
		}
		if holder == "" {
			continue
		}
		if retried, err := successor(ctx, a, h.Run); retried.ID != "" || err != nil {
			return advice, err // repeated it gives the same run
		}
		return RetryAdvice{
			Refused: fmt.Sprintf("run %s now holds the token of its hook, so payloads for that token would not reach the new run", holder), Fork: advice.At, Restart: true,
		}, nil
	}
	return advice, nil
}
