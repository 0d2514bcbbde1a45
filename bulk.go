package stepwell

// The same for many runs.

import (
	"context"
	"errors"
	"iter"
)

// Act is what [App.Bulk] does to each run, App.Cancel for one:
//
//	func(ctx context.Context, run stepwell.RunInfo) error { return app.Cancel(ctx, run.ID, "recalled") }
type Act func(ctx context.Context, run RunInfo) error

// BulkResult is what became of one run of many.
type BulkResult struct {
	Run RunInfo // as it was before
	Err error   // of the act; nil: it is done
}

// Bulk does something to each run that a filter finds, newest first, and yields what became of each: an act that is refused stops nothing. It keeps
// one page of runs in memory, however many there are. The caller's break, or the end of ctx, stops it between two runs; what is done is
// done. Repeated, it does no harm where the act does none: a cancel, a pause and a retry of one run are one, however often they are asked for. Runs
// that are born meanwhile, of the act too, are not met.
//
// The second value is an error of the list itself; it is the last.
func (a *App) Bulk(ctx context.Context, f ListFilter, act Act) iter.Seq2[BulkResult, error] {
	return func(yield func(BulkResult, error) bool) {
		for run, err := range a.List(ctx, f) {
			if err == nil && ctx.Err() != nil {
				err = context.Cause(ctx)
			}
			if err != nil {
				yield(BulkResult{}, err)
				return
			}
			err := act(ctx, run)
			if err != nil && ctx.Err() != nil && errors.Is(err, ctx.Err()) {
				yield(BulkResult{}, err) // it was stopped, not refused
				return
			}
			if !yield(BulkResult{run, err}, nil) {
				return
			}
		}
	}
}

// Count counts the runs that a filter finds: what a bulk operation would meet.
func (a *App) Count(ctx context.Context, f ListFilter) (n int, err error) {
	for _, err := range a.List(ctx, f) {
		if err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}
