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

// How much a page has at most, and how much is looked at for one.
const (
	MostListed   = 1000            // runs or hooks; as many runs are looked at for a page whose filter wants their input
	MostScanned  = 20_000          // runs that another filter passes over
	MostEvents   = 1000            // of a log, and one commit's more
	MostFiltered = 10 * MostEvents // events that are looked at for a filtered page
)

// ListLimit is how many a page of a list has, of runs or hooks, where so many are asked for.
func ListLimit(n int) int { return limit(n, 100, MostListed) }

// EventLimit is how many events a page has, where so many are asked for.
func EventLimit(n int) int { return limit(n, MostEvents, MostEvents) }

func limit(n, without, most int) int {
	if n <= 0 {
		return without
	}
	return min(n, most)
}

// RunCursor is the cursor of a list of runs behind the one with a key: they are listed newest first, and keys grow with birth.
func RunCursor(key int64) string { return "r" + strconv.FormatInt(key, 10) }

// ParseRunCursor returns the key below which the list goes on; "" is the start. Anything that [RunCursor] did not make is refused.
func ParseRunCursor(c string) (int64, error) {
	if c == "" {
		return math.MaxInt64, nil
	}
	if n, err := strconv.ParseInt(strings.TrimPrefix(c, "r"), 10, 64); err == nil && n > 0 && RunCursor(n) == c {
		return n, nil
	}
	return 0, BadRunCursor(c)
}

// BadRunCursor refuses a cursor.
func BadRunCursor(c string) error {
	return fmt.Errorf("%w: cursor %.40q of a list of runs", world.ErrInvalid, c)
}

// RunPage collects a page of runs, without its cursor.
type RunPage struct {
	Query  *world.RunQuery
	Runs   []world.Run
	Looked int // at how many
	bytes  int
}

// Full reports whether no other run is to be looked at.
func (p *RunPage) Full() bool {
	return len(p.Runs) == ListLimit(p.Query.Limit) || p.bytes >= world.PageBytes || p.Looked == MostListed
}

// Add looks at the next run, which is on the page if it is what is asked for. What its row shows by itself was looked at before.
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
	From            int64 // number of the last event that was looked at
	Rows            int64 // commits that were
	looked, bytes   int   // events, of this page
}

// Filtered reports whether a query leaves some events out.
func Filtered(q *world.EventQuery) bool { return q.CorrelationID != "" || len(q.Types) > 0 }

// Wants reports whether the next commit, whose number and count of events are as its row says, is to be read. Once it is not as the page is full there is
// More.
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

// Add looks at that commit.
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
