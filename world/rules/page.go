package rules

// Pages: how much is on one, and where the next goes on.

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/stepwell/stepwell/world"
)

// Bounds of pages.
const (
	// MostListed: runs or hooks of a page; also runs examined for a filter by input.
	MostListed   = 1000
	MostScanned  = 20_000          // runs examined for other filters
	MostEvents   = 1000            // events of a page, and the rest of its last commit
	MostFiltered = 10 * MostEvents // events examined for a filtered page
)

// ListLimit returns the effective length of a page of runs or hooks.
func ListLimit(n int) int { return limit(n, 100, MostListed) }

// EventLimit returns the effective length of a page of events.
func EventLimit(n int) int { return limit(n, MostEvents, MostEvents) }

func limit(n, without, most int) int {
	if n <= 0 {
		return without
	}
	return min(n, most)
}

// RunCursor returns the cursor after the run with a key. Lists are newest first, and keys grow with
// creation.
func RunCursor(key int64) string { return "r" + strconv.FormatInt(key, 10) }

// ParseRunCursor returns the key below which a list continues; "" is the start. Text that is not
// from [RunCursor] is refused.
func ParseRunCursor(c string) (int64, error) {
	if c == "" {
		return math.MaxInt64, nil
	}
	if n, err := strconv.ParseInt(strings.TrimPrefix(c, "r"), 10, 64); err == nil && n > 0 && RunCursor(n) == c {
		return n, nil
	}
	return 0, BadRunCursor(c)
}

// BadRunCursor returns the error for an invalid cursor.
func BadRunCursor(c string) error {
	return fmt.Errorf("%w: cursor %.40q of a list of runs", world.ErrInvalid, c)
}

// RunPage collects a page of runs, without its cursor.
type RunPage struct {
	Query  *world.RunQuery
	Runs   []world.Run
	Looked int // number of runs examined
	bytes  int
}

// Full reports whether the page is complete.
func (p *RunPage) Full() bool {
	return len(p.Runs) == ListLimit(p.Query.Limit) || p.bytes >= world.PageBytes || p.Looked == MostListed
}

// Add examines the next run, and adds it if it matches the query. The caller has already checked
// the columns of its row.
func (p *RunPage) Add(r *world.Run) error {
	p.Looked++
	holds, err := p.Query.Holds(r)
	if holds {
		p.Runs = append(p.Runs, *r)
		p.bytes += r.Size()
	}
	return err
}

// EventPage collects a page of a run's log: whole commits, in order.
type EventPage struct {
	world.EventPage // its Trimmed is to be known before the first commit
	Run             string
	Query           *world.EventQuery
	From            int64 // number of the last event examined
	Rows            int64 // number of commits examined
	looked, bytes   int   // events, of this page
}

// Filtered reports whether a query leaves some events out.
func Filtered(q *world.EventQuery) bool { return q.CorrelationID != "" || len(q.Types) > 0 }

// Wants reports whether to read the next commit, which begins at seq and has n events. If it
// returns false because the page is full, More is set.
func (p *EventPage) Wants(seq, n int64) (bool, error) {
	switch {
	case seq < 1 || n < 1 || seq > math.MaxInt64-n:
		return false, p.corrupt("a row has %d events from number %d on", n, seq)
	case seq+n-1 <= p.From:
		return false, nil
	case len(p.Events) >= EventLimit(p.Query.Limit) || p.bytes >= world.PageBytes || p.looked >= MostFiltered:
		p.More = true
		return false, nil
	}
	return true, nil
}

// Add examines that commit.
func (p *EventPage) Add(seq, n int64, events []world.Event) error {
	if seq > p.From+1 && p.From > 0 && seq > p.Trimmed || int64(len(events)) != n {
		return p.corrupt("the log goes on with event %d and %d events of %d", seq, len(events), n)
	}
	p.Rows++
	p.looked += len(events)
	for i := range events {
		if e := &events[i]; e.Seq > p.From && p.passes(e) {
			p.Events = append(p.Events, *e)
			p.bytes += e.Size()
		}
	}
	p.From = seq + n - 1
	p.Cursor = world.Cursor(p.From)
	return nil
}

func (p *EventPage) passes(e *world.Event) bool {
	q := p.Query
	return (q.CorrelationID == "" || e.ID == q.CorrelationID) && (len(q.Types) == 0 || slices.Contains(q.Types, e.Type))
}

func (p *EventPage) corrupt(format string, args ...any) error {
	return &world.CorruptError{Run: p.Run, Seq: p.From + 1, Err: fmt.Errorf(format, args...)}
}
