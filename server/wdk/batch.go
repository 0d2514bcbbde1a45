package wdk

// Calls about many: events of a run in one commit, and runs that are cancelled together.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"

	"github.com/stepwell/stepwell/world"
)

// Limits of calls about many.
const (
	mostBatch  = 100
	mostMany   = 500
	batchBytes = world.MaxCommit * 3 / 4 // behind so many bytes of events a batch goes on in a commit of its own
	cancelling = 8                       // runs that a call cancels at once
)

// batchIn asks for events that are to follow each other.
type batchIn struct {
	RunID  string `json:"runId"`
	Events []struct {
		Event eventIn `json:"event"`
	} `json:"events"`
	Params struct {
		ResolveData string `json:"resolveData"`
	} `json:"params"`
	Call  string `json:"call"`
	Again bool   `json:"again"`
}

// batchItem is what became of one of them: what its own call had been answered, or refused with.
type batchItem struct {
	Status  int    `json:"status"`
	Error   string `json:"error,omitempty"`
	Message string `json:"message,omitempty"`
	*createOut
}

type batchOut struct {
	Results []batchItem `json:"results"`
}

// batched are the events that a batch may have.
var batched = []world.EventType{
	world.StepCreated, world.StepStarted, world.StepCompleted, world.StepFailed, world.StepRetrying, world.WaitCreated, world.WaitCompleted,
}

func (h *Host) createBatch(ctx context.Context, in *batchIn) (any, error) {
	if n := len(in.Events); n == 0 || n > mostBatch {
		return nil, fmt.Errorf("%w: a batch of %d events: want 1 to %d", world.ErrInvalid, n, mostBatch)
	}
	all := make([]createIn, len(in.Events))
	for i := range all {
		all[i] = createIn{RunID: in.RunID, Event: in.Events[i].Event, Call: in.Call}
		all[i].Params.ResolveData = in.Params.ResolveData
		if e := &all[i].Event; !slices.Contains(batched, e.Type) || e.lazy() {
			return nil, fmt.Errorf("%w: %.40q cannot be in a batch", world.ErrInvalid, e.Type)
		} else if err := e.check(); err != nil {
			return nil, err
		}
	}
	out := batchOut{}
	err := trying(ctx, in.Again, func(again bool) error {
		return h.with(ctx, in.RunID, true, func(r *run) (err error) { // it may refuse some
			out.Results, err = h.writeBatch(ctx, r, all, again)
			if err != nil {
				r.forget()
			}
			return err
		})
	})
	return out, err
}

// writeBatch appends what the run takes of the events, in their order, in one commit where that has room.
func (h *Host) writeBatch(ctx context.Context, r *run, all []createIn, again bool) ([]batchItem, error) {
	results := make([]batchItem, len(all))
	at, used := make([]int, len(all)), map[int]bool{} // by event, its place in the run's
	c, bytes := r.next(all[0].commitID()), 0
	flush := func() (err error) {
		if len(c.Events) > 0 {
			err = h.own(ctx, r)
		}
		if c.Worker, c.Claim = r.worker, r.claim; err == nil && len(c.Events) > 0 {
			err = h.flush(ctx, r, c)
		}
		c, bytes = r.next(c.ID), 0
		return err
	}
	for i := range all {
		in, err := &all[i], error(nil)
		late := *in // which has a call of its own
		late.Call += " " + strconv.Itoa(i)
		if again {
			if at[i], err = h.written(ctx, r, in); at[i] < 0 {
				at[i] = r.lateAt(&late)
			}
			if err != nil {
				return nil, err
			}
			if at[i] >= 0 && !used[at[i]] {
				used[at[i]] = true
				continue
			}
		}
		if before := max(i-1, 0); in.Event.Type == world.StepStarted && all[before].Event.Type == world.StepCreated &&
			in.Event.CorrelationID == all[before].Event.CorrelationID && results[before].Error != "" {
			err = conflict("step %s exists", in.Event.CorrelationID) // who created it starts it
		} else {
			_, err = r.judge(in)
		}
		switch {
		case err != nil:
		case r.state.Status.Terminal():
			at[i], err = h.beside.write(ctx, r, &late)
		default:
			var events []world.Event // one
			if events, err = r.made(in); err != nil {
				break
			}
			n := len(events[0].Payload) + 1
			if bytes > 0 && bytes+n > batchBytes {
				if err := flush(); err != nil {
					return nil, err
				}
			}
			bytes += n
			at[i], err = r.follow(c, &events[0])
		}
		var no *Refusal
		if errors.As(err, &no) {
			results[i] = batchItem{Status: no.Status, Error: no.Name, Message: no.Error()}
		} else if err != nil {
			return nil, err
		}
	}
	if err := flush(); err != nil {
		return nil, err
	}
	for i := range all {
		if results[i].Error == "" {
			results[i] = batchItem{Status: 200, createOut: r.created(&all[i], at[i])}
		}
	}
	return results, nil
}

type manyIn struct {
	RunIDs []string `json:"runIds"`
	Reason string   `json:"cancelReason"`
	Call   string   `json:"call"`
	Again  bool     `json:"again"`
}

// cancelled is what became of a run that was to be cancelled.
type cancelled struct {
	RunID     string       `json:"runId"`
	Outcome   string       `json:"outcome"`
	Status    world.Status `json:"status,omitempty"`
	Code      string       `json:"code,omitempty"`
	Retryable *bool        `json:"retryable,omitempty"`
}

type cancelledAll struct {
	Summary map[string]int `json:"summary"`
	Results []cancelled    `json:"results"`
}

// summaries says under which name an outcome is counted.
var summaries = map[string]string{
	"cancelled": "cancelled", "already_cancelled": "alreadyCancelled", "not_cancellable": "notCancellable", "not_found": "notFound", "failed": "failed",
}

func (h *Host) cancelRuns(ctx context.Context, in *manyIn) (any, error) {
	if n := len(in.RunIDs); n == 0 || n > mostMany {
		return nil, fmt.Errorf("%w: %d runs at once: want 1 to %d", world.ErrInvalid, n, mostMany)
	}
	out := cancelledAll{map[string]int{"requested": len(in.RunIDs)}, make([]cancelled, len(in.RunIDs))}
	var all sync.WaitGroup
	for from := range min(cancelling, len(in.RunIDs)) {
		all.Go(func() {
			for i := from; i < len(in.RunIDs); i += cancelling {
				out.Results[i] = h.cancelOne(ctx, in, in.RunIDs[i])
			}
		})
	}
	all.Wait()
	for _, name := range summaries {
		out.Summary[name] = 0
	}
	for i := range out.Results {
		out.Summary[summaries[out.Results[i].Outcome]]++
	}
	return out, ctx.Err()
}

func (h *Host) cancelOne(ctx context.Context, in *manyIn, id string) cancelled {
	one := &createIn{RunID: id, Event: eventIn{Type: world.RunCancelled}, Call: in.Call, Again: in.Again}
	if in.Call != "" {
		one.Call += " " + id
	}
	if in.Reason != "" {
		one.Event.Data = map[string]json.RawMessage{"cancelReason": quoted(in.Reason)}
	}
	before := world.Status("")
	_ = h.with(ctx, id, true, func(r *run) error { before = r.state.Status; return nil }) // what is wrong is told below
	_, err := h.createEvent(ctx, one)
	out := cancelled{RunID: id}
	var no *Refusal
	switch {
	case err == nil && before == world.Cancelled && !in.Again:
		out.Outcome = "already_cancelled"
	case err == nil:
		out.Outcome = "cancelled"
	case errors.Is(err, world.ErrNotFound), errors.Is(err, world.ErrInvalid):
		out.Outcome = "not_found"
	case errors.As(err, &no) && no.Status == 409:
		out.Outcome, out.Status = "not_cancellable", before
		_ = h.with(ctx, id, true, func(r *run) error { out.Status = r.state.Status; return nil })
	default:
		yes := true
		out.Outcome, out.Code, out.Retryable = "failed", "internal_error", &yes
	}
	return out
}
