package world

// Reading all that a world keeps of runs, so that what is damaged is found before somebody needs it.

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// VerifyQuery says which runs to read: newest first, from a cursor of [Verified] on.
type VerifyQuery struct {
	Cursor string
	Runs   int // about so many at most; 0: a page
}

// Verified is what was read. Cursor is where to go on; "": all runs were read.
type Verified struct {
	Runs    int
	Events  int64
	Damaged []Damage
	Cursor  string
}

// Damage is a run of which something cannot be read.
type Damage struct {
	Run  string
	What string
}

// Verify reads the rows, the logs and the streams of runs, and so compares them with their checksums. It changes nothing.
func Verify(ctx context.Context, w World, q VerifyQuery) (out Verified, err error) {
	page, err := w.Runs(ctx, RunQuery{Cursor: q.Cursor, Limit: q.Runs})
	if err != nil {
		return out, err
	}
	for i := range page.Runs {
		r := &page.Runs[i]
		n, err := verify(ctx, w, r)
		out.Runs++
		out.Events += n
		switch {
		case errors.Is(err, ErrCorrupt), errors.Is(err, ErrFormat):
			out.Damaged = append(out.Damaged, Damage{r.ID, err.Error()})
		case errors.Is(err, ErrNotFound): // it was swept meanwhile
		case err != nil:
			return out, err
		}
	}
	out.Cursor = page.Cursor
	return out, nil
}

// CheckFirst is a [*CorruptError] where a log does not begin with event 1, run_created: that is there for as long as its run. e is what it begins with; nil: it
// has no event.
func CheckFirst(run string, e *Event) error {
	if e == nil || e.Seq != 1 || e.Type != RunCreated || e.Birth == nil {
		return &CorruptError{Run: run, Seq: 1, Err: errors.New("the log has no event 1")}
	}
	return nil
}

func verify(ctx context.Context, w World, r *Run) (events int64, err error) {
	if r.Damage != "" {
		return 0, &CorruptError{Run: r.ID, Seq: 1, Err: errors.New(r.Damage)}
	}
	state := State{ID: r.ID}
	for page := (EventPage{More: true}); page.More; {
		if page, err = w.Events(ctx, r.ID, EventQuery{Cursor: page.Cursor}); err != nil {
			return events, err
		}
		if len(page.Events) == 0 && events == 0 { // or it was swept between two statements
			if _, err := w.Run(ctx, r.ID); err != nil {
				return 0, err
			}
			return 0, CheckFirst(r.ID, nil)
		}
		for i := range page.Events {
			e := &page.Events[i]
			if events == 0 {
				if err := CheckFirst(r.ID, e); err != nil {
					return 0, err
				}
			}
			if page.Trimmed == 0 {
				if _, err := state.Apply(e, time.Time{}); err != nil {
					return events, &CorruptError{Run: r.ID, Seq: e.Seq, Err: err}
				}
			}
			events++
		}
	}
	streams, err := w.StreamsOf(ctx, r.ID)
	if err != nil {
		return events, err
	}
	for _, s := range streams {
		for page := (ChunkPage{More: true}); page.More; {
			if page, err = w.Chunks(ctx, r.ID, s.Name, ChunkQuery{From: page.Next}); err != nil {
				return events, fmt.Errorf("stream %q: %w", s.Name, err)
			}
		}
	}
	if t, ok := w.(TaskReader); ok {
		tasks, err := t.Tasks(ctx, r.ID)
		for i := range tasks {
			if tasks[i].Damage != "" {
				return events, &CorruptError{Run: r.ID, Seq: 1, Err: fmt.Errorf("the task of step %s: %s", tasks[i].Step, tasks[i].Damage)}
			}
		}
		return events, err
	}
	return events, nil
}
