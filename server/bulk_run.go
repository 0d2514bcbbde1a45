package server

// This file does the same to many runs, page by page: some of them in one answer, for a bounded time, or all, told in lines as it goes.

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/internal/operate"
)

// bulked is what became of runs, as an answer or as one line of one.
type bulked struct {
	Runs      []operate.OfRun  `json:"runs"`
	Count     int              `json:"count"`              // runs that match, so far, as are the next three
	Done      int              `json:"done"`               //
	Unchanged int              `json:"unchanged"`          // they were so already
	Refused   int              `json:"refused"`            //
	Would     int              `json:"would,omitempty"`    // of a dry run: that would be acted on
	Refusals  operate.Refusals `json:"refusals,omitempty"` // by their reason
	AtLeast   bool             `json:"atLeast,omitempty"`  // there may be more that match: see Cursor
	DryRun    bool             `json:"dryRun,omitempty"`
	End       bool             `json:"end,omitempty"`    // of lines: this is the last
	Error     *Problem         `json:"error,omitempty"`  // why it stopped before the end
	Cursor    string           `json:"cursor,omitempty"` // to go on with; none: this is the end, but for an Error
}

// bulkTime is how long a bulk operation goes on in a request whose answer comes at its end.
const bulkTime = 10 * time.Second

// bulkActTime is how long one act may take. It is not cut short where the client goes: what has begun is done, or is known not to be.
const bulkActTime = 10 * time.Second

// bulkWork is a bulk operation under way.
type bulkWork struct {
	s      *Server
	r      *request
	filter stepwell.ListFilter
	cursor string // where it goes on
	dry    bool
	limit  int // of runs; 0: none
	is     *operate.Act
	do     stepwell.Act
	total  bulked // of all so far, without the runs
}

// run goes on until all is done, the time is up, or the server drains, and tells of each page. An error is the list's or the server's, not a run's: what
// was met on that page is told, unless it is the first, and the cursor stays before it.
func (b *bulkWork) run(ctx context.Context, until time.Time, tell func([]operate.OfRun) error) error {
	for first := true; ; first = false {
		limit := runsAtOnce
		if b.limit > 0 {
			limit = min(b.limit-b.total.Count, runsAtOnce)
		}
		page, err := b.s.app.Page(ctx, b.filter, b.cursor, limit)
		var met []operate.OfRun
		if err == nil {
			met, err = b.page(ctx, page.Runs)
		}
		if err == nil {
			b.cursor = page.Cursor
		} else if first {
			return err
		}
		b.total.Cursor, b.total.AtLeast = b.cursor, b.cursor != ""
		if told := tell(met); told != nil || err != nil {
			return errors.Join(told, err)
		}
		if page.Cursor == "" || b.limit > 0 && b.total.Count >= b.limit || time.Now().After(until) || b.s.drains() {
			return nil
		}
	}
}

// page acts on runs, some at once, and counts. An error is the server's: all that were begun last met one.
func (b *bulkWork) page(ctx context.Context, runs []stepwell.RunInfo) ([]operate.OfRun, error) {
	met := make([]operate.OfRun, len(runs))
	for i := range runs {
		met[i] = b.is.Of(&runs[i], operate.Matched)
	}
	b.total.Count += len(runs)
	at := 0
	for some := range slices.Chunk(runs, b.is.Parallel) {
		if err := ctx.Err(); err != nil {
			return met[:at], err
		}
		var failed error
		broken := 0
		for i, err := range b.act(ctx, some) {
			is := &met[at+i]
			switch {
			case err == nil:
				if b.dry {
					b.total.Would++
					continue
				}
				b.total.Done++
				is.Result = b.is.Result
			case errors.Is(err, operate.ErrAlready):
				b.total.Unchanged++
				is.Result = operate.Unchanged
			default:
				b.total.Refused++
				p := b.problem(err, "run_id", is.Run)
				is.Result, is.Code, is.Error = operate.Refused, p.Code, cmp.Or(p.Detail, p.Title)
				b.total.Refusals.Add(is.Run, is.Code, is.Error)
				if p.Status == http.StatusServiceUnavailable {
					failed = err
					broken++
				}
			}
		}
		at += len(some)
		if broken == len(some) {
			return met[:at], failed
		}
	}
	return met, nil
}

// act acts on runs, all at once.
func (b *bulkWork) act(ctx context.Context, runs []stepwell.RunInfo) []error {
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), bulkActTime)
	defer stop()
	errs := make([]error, len(runs))
	var acts sync.WaitGroup
	for i := range runs {
		acts.Go(func() {
			defer func() {
				if v := recover(); v != nil {
					errs[i] = fmt.Errorf("panic: %v\n%s", v, debug.Stack())
				}
			}()
			errs[i] = b.do(ctx, runs[i])
		})
	}
	acts.Wait()
	return errs
}

// problem is the problem that an error is.
func (b *bulkWork) problem(err error, known ...any) *Problem {
	p := b.s.audit.problem(b.r.Request, err, known...)
	return &p
}

// answer does as much as it has time for, and then tells of it.
func (b *bulkWork) answer(w http.ResponseWriter) error {
	if b.limit == 0 {
		b.limit = mostBulk
	}
	all := []operate.OfRun{}
	told := false
	err := b.run(b.r.Context(), time.Now().Add(b.s.bulkTime), func(met []operate.OfRun) error {
		all, told = append(all, met...), true
		return nil
	})
	if err != nil && (!told || b.r.Context().Err() != nil) {
		return err
	}
	b.total.Runs = all
	if err != nil {
		b.total.Error = b.problem(err)
	}
	return answer(w, http.StatusOK, b.total)
}

// lines tells of each page as a line of JSON.
func (b *bulkWork) lines(w http.ResponseWriter) error {
	rc := http.NewResponseController(w)
	begun := false
	line := func() error {
		if !begun {
			begun = true
			w.Header().Set("Content-Type", ndJSON)
			w.Header().Set("X-Accel-Buffering", "no") // proxies would keep it until it is large
			w.WriteHeader(http.StatusOK)
		}
		var text bytes.Buffer
		enc := json.NewEncoder(&text)
		enc.SetEscapeHTML(false)
		if err := enc.Encode(b.total); err != nil {
			return err
		}
		_ = rc.SetWriteDeadline(time.Now().Add(b.s.opts.WriteTimeout)) // not every ResponseWriter has deadlines
		if _, err := w.Write(text.Bytes()); err != nil {
			return err
		}
		return rc.Flush()
	}
	gone := false
	err := b.run(b.r.Context(), time.Now().Add(b.s.opts.MaxWait), func(met []operate.OfRun) error {
		b.total.Runs = met
		if met == nil {
			b.total.Runs = []operate.OfRun{}
		}
		err := line()
		gone = err != nil
		return err
	})
	switch {
	case err != nil && !begun:
		return err
	case gone || b.r.Context().Err() != nil:
		return errBegun
	case err != nil:
		b.total.Error = b.problem(err)
	}
	b.total.Runs, b.total.End = []operate.OfRun{}, true
	if line() != nil {
		return errBegun
	}
	return nil
}
