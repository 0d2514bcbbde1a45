package world

// Reading all that a world keeps of runs, so that what is damaged is found before somebody needs it.

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// VerifyQuery says which runs to verify: newest first, from a cursor of [Verified] on.
type VerifyQuery struct {
	Cursor string
	Runs   int  // about this many at most; 0: a page
	Mend   bool // repair what a [Mender] can
}

// Verified is the result of [Verify]. Cursor continues it; "": all runs were verified.
type Verified struct {
	Runs    int
	Events  int64
	Damaged []Damage
	Mended  []Damage // damage that was repaired
	Aside   []AsideRun
	Cursor  string
}

// AsideRun is a run with payloads that were set aside because they do not fit its code: see
// [KindAside].
type AsideRun struct {
	Run      string
	Payloads int
	Over     bool // the run is over
}

// Damage is a run that is partly unreadable.
type Damage struct {
	Run  string
	What string
	// Mends means that a [Mender] can repair all of it.
	Mends bool
}

// Verify reads the rows, logs, streams and stored-apart values of runs. So it checks their
// checksums, and compares derived data with the logs. It changes nothing, except with Mend.
func Verify(ctx context.Context, w World, q VerifyQuery) (out Verified, err error) {
	page, err := w.Runs(ctx, RunQuery{Cursor: q.Cursor, Limit: q.Runs})
	if err != nil {
		return out, err
	}
	for i := range page.Runs {
		r := &page.Runs[i]
		n, asides, mended, err := verify(ctx, w, r, q.Mend)
		if mended != "" {
			out.Mended = append(out.Mended, Damage{Run: r.ID, What: mended})
		}
		out.Runs++
		out.Events += n
		if asides > 0 {
			out.Aside = append(out.Aside, AsideRun{r.ID, asides, r.Status.Terminal()})
		}
		switch {
		case errors.Is(err, ErrCorrupt), errors.Is(err, ErrFormat):
			d := Damage{Run: r.ID, What: err.Error()}
			if beside := (*derivedError)(nil); errors.As(err, &beside) {
				d.Mends = beside.mends
			}
			out.Damaged = append(out.Damaged, d)
		case errors.Is(err, ErrNotFound): // it was swept meanwhile
		case err != nil:
			return out, err
		}
	}
	out.Cursor = page.Cursor
	return out, nil
}

// CheckFirst returns a [*CorruptError] if a log does not begin with event 1, run_created. e is its
// first event; nil: it has none.
func CheckFirst(run string, e *Event) error {
	if e == nil || e.Seq != 1 || e.Type != RunCreated || e.Birth == nil {
		return &CorruptError{Run: run, Seq: 1, Err: errors.New("the log has no event 1")}
	}
	return nil
}

var outcomes = map[EventType]Status{RunCompleted: Completed, RunFailed: Failed, RunCancelled: Cancelled}

// checkEnd compares the status of a run's row with the outcome in its log, which was read later.
func checkEnd(ctx context.Context, w World, r *Run, over Status, last int64) error {
	status := r.Status
	if !status.Terminal() && over != "" { // it may have ended meanwhile
		row, err := w.Run(ctx, r.ID)
		if err != nil {
			return err
		}
		status = row.Status
	}
	switch {
	case status == over, !status.Terminal() && over == "":
		return nil
	case over == "":
		return &CorruptError{Run: r.ID, Seq: last + 1, Err: fmt.Errorf("the run is %s, but its log has no end", status)}
	}
	return &CorruptError{Run: r.ID, Seq: last, Err: fmt.Errorf("the run is %s by its row, but %s by its log", status, over)}
}

// logRead is what a log says.
type logRead struct {
	state  State
	over   Status // what the run came to; "": it is not over
	cursor string // behind it
	events int64
	asides int
	apart  []Event // those that refer to values which are kept apart
}

// read folds a log, from where it is entered. Where it is trimmed meanwhile, that begins anew.
func (l *logRead) read(ctx context.Context, w World, run string) (err error) {
	trimmed := int64(-1)
	for page := (EventPage{More: true}); page.More; l.cursor = page.Cursor {
		if page, err = w.Events(ctx, run, EventQuery{Cursor: page.Cursor}); err != nil {
			return err
		}
		if page.Trimmed != trimmed {
			again := trimmed >= 0
			trimmed = page.Trimmed
			*l = logRead{state: State{ID: run, EnterAt: trimmed}}
			if again {
				page = EventPage{More: true}
				continue
			}
		}
		if err := l.page(page.Events); err != nil {
			return err
		}
	}
	if l.events == 0 { // or it was swept between two statements
		if _, err := w.Run(ctx, run); err != nil {
			return err
		}
		return CheckFirst(run, nil)
	}
	return nil
}

func (l *logRead) page(events []Event) error {
	for i := range events {
		e := &events[i]
		if l.events == 0 {
			if err := CheckFirst(l.state.ID, e); err != nil {
				return err
			}
		}
		if _, err := l.state.Apply(e, time.Time{}); err != nil {
			return &CorruptError{Run: l.state.ID, Seq: e.Seq, Err: err}
		}
		if e.Type.Terminal() {
			l.over = outcomes[e.Type]
		}
		if e.Apart != "" {
			l.apart = append(l.apart, Event{Seq: e.Seq, Payload: e.Payload, Apart: e.Apart, Encrypted: e.Encrypted})
		}
		if l.events++; e.Type == StepCreated && e.Kind == KindAside {
			l.asides++
		}
	}
	return nil
}

func verify(ctx context.Context, w World, r *Run, mend bool) (events int64, asides int, mended string, err error) {
	if r.Damage != "" {
		return 0, 0, "", &CorruptError{Run: r.ID, Seq: 1, Err: errors.New(r.Damage)}
	}
	var l logRead
	if err := l.read(ctx, w, r.ID); err != nil {
		return l.events, l.asides, "", err
	}
	events, asides = l.events, l.asides
	if err := checkEnd(ctx, w, r, l.over, l.state.Seq); err != nil {
		return events, asides, "", err
	}
	if l.over == "" {
		if mended, err = checkDerived(ctx, w, r, &l.state, l.cursor, mend); err != nil {
			return events, asides, mended, err
		}
	}
	for i := range l.apart {
		if err := verifyApart(ctx, w.Values(), r.ID, &l.apart[i]); err != nil {
			return events, asides, mended, err
		}
	}
	streams, err := w.StreamsOf(ctx, r.ID)
	if err != nil {
		return events, asides, mended, err
	}
	for _, s := range streams {
		for page := (ChunkPage{More: true}); page.More; {
			if page, err = w.Chunks(ctx, r.ID, s.Name, ChunkQuery{From: page.Next}); err != nil {
				return events, asides, mended, fmt.Errorf("stream %q: %w", s.Name, err)
			}
		}
	}
	tasks, err := w.Tasks(ctx, r.ID)
	for i := range tasks {
		if tasks[i].Damage != "" {
			return events, asides, mended, &CorruptError{Run: r.ID, Seq: 1, Err: fmt.Errorf("the task of step %s: %s", tasks[i].Step, tasks[i].Damage)}
		}
	}
	return events, asides, mended, err
}

// verifyApart reads the pieces of the values that an event refers to, and of those that its payload names. How many
// there are is in the reference; where that is encrypted, those that are there are read. What the run names and does
// not hold is no value of it.
func verifyApart(ctx context.Context, from Values, run string, e *Event) error {
	whole, names := SplitApart(e.Apart)
	if whole != "" {
		of, ok := ReadApart(e.Payload, e.Apart)
		if !ok && e.Encrypted == "" {
			return badValue(run, e.Seq, whole, "the event does not refer to it")
		}
		if err := verifyPieces(ctx, from, run, e.Seq, whole, of.Size, ok); err != nil {
			return err
		}
	}
	refs := Named(e.Payload)
	for _, id := range names {
		_, err := from.Piece(ctx, run, id, 0)
		if errors.Is(err, ErrNotFound) {
			continue
		}
		i := slices.IndexFunc(refs, func(a Apart) bool { return a.ID == id })
		size := int64(0)
		if i >= 0 {
			size = refs[i].Size
		}
		if err := verifyPieces(ctx, from, run, e.Seq, id, size, i >= 0); err != nil {
			return err
		}
	}
	return nil
}

func badValue(run string, seq int64, value, what string) error {
	return &CorruptError{Run: run, Seq: seq, Err: fmt.Errorf("value %s, which is kept apart: %s", value, what)}
}

// verifyPieces reads the pieces of a value; known: its size is.
func verifyPieces(ctx context.Context, from Values, run string, seq int64, value string, size int64, known bool) error {
	most := max(1, (size+ApartPiece-1)/ApartPiece)
	for n := 0; !known || int64(n) < most; n++ {
		_, err := from.Piece(ctx, run, value, n)
		switch {
		case errors.Is(err, ErrNotFound) && !known && n > 0:
			return nil
		case errors.Is(err, ErrNotFound):
			return badValue(run, seq, value, fmt.Sprintf("piece %d is not there", n))
		case errors.Is(err, ErrCorrupt):
			return badValue(run, seq, value, err.Error())
		case err != nil:
			return err
		}
	}
	return nil
}
