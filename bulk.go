package stepwell

// The same for many runs.

import (
	"context"
	"fmt"
	"iter"
	"time"

	"github.com/stepwell/stepwell/internal/kit"
)

// Act is what [App.Bulk] does to each run, for example App.Cancel:
//
//	func(ctx context.Context, run stepwell.RunInfo) error { return app.Cancel(ctx, run.ID, "recalled") }
type Act func(ctx context.Context, run RunInfo) error

// BulkResult is the result of an [Act] on one run.
type BulkResult struct {
	Run RunInfo // the run before the act
	Err error   // the error of the act; nil: success
}

// BulkOption is an option of [App.Bulk]: [Parallel].
type BulkOption interface{ bulkOption(*bulkOptions) }

type bulkOptions struct{ parallel int }

// Parallel sets how many acts of [App.Bulk] run at once, from 1, which is the default. Each runs on
// its own goroutine. Changes made at once share database transactions: 32 at once are many times
// faster for large lists.
func Parallel(n int) BulkOption { return parallelOption(n) }

type parallelOption int

func (n parallelOption) bulkOption(o *bulkOptions) { o.parallel = int(n) }

// bulkGrace is how long acts that have begun may go on when the context of a bulk operation ends, so that it is known what became of them.
const bulkGrace = 5 * time.Second

// Bulk calls act for each run that the filter selects, newest first, and yields the results in that
// order. An error of act does not stop it. Bulk keeps one page of runs in memory. Runs created
// meanwhile, even by act, are not included. Bulk is safe to repeat if act is: cancelling, pausing
// or retrying a run twice is the same as once.
//
// When ctx ends, Bulk begins no more acts. Acts that have begun get 5 s to end before their own
// contexts end, and their results are yielded. When the caller breaks off, Bulk waits for acts that
// have begun, and drops their results.
//
// The second value is an error of the list, or the cause of ctx. It comes last.
func (a *App) Bulk(ctx context.Context, f ListFilter, act Act, opts ...BulkOption) iter.Seq2[BulkResult, error] {
	o := bulkOptions{parallel: 1}
	err := kit.Given(opts, func(opt BulkOption) { opt.bulkOption(&o) })
	return func(yield func(BulkResult, error) bool) {
		if err != nil {
			yield(BulkResult{}, fmt.Errorf("bulk: %w", err))
			return
		}
		if act == nil {
			yield(BulkResult{}, fmt.Errorf("%w: bulk: no act", ErrInvalid))
			return
		}
		if o.parallel < 1 {
			yield(BulkResult{}, fmt.Errorf("%w: bulk: %d acts at once: want 1 or more", ErrInvalid, o.parallel))
			return
		}
		a.bulk(ctx, f, act, o.parallel, yield)
	}
}

func (a *App) bulk(ctx context.Context, f ListFilter, act Act, parallel int, yield func(BulkResult, error) bool) {
	actCtx, stop := outliving(ctx, bulkGrace)
	defer stop()
	var begun []chan BulkResult // in the order of the list
	defer func() {
		for _, c := range begun {
			<-c
		}
	}()
	first := func() bool {
		r := <-begun[0]
		begun = begun[1:]
		return yield(r, nil)
	}
	var failed error
	for run, err := range a.List(ctx, f) {
		if err == nil && ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		if failed = err; failed != nil {
			break
		}
		c := make(chan BulkResult, 1)
		if do := func() { c <- BulkResult{run, act(actCtx, run)} }; parallel == 1 {
			do() // before it is waited for: a panic is the caller's
			begun = append(begun, c)
		} else {
			begun = append(begun, c)
			go do() // it is waited for above
		}
		if len(begun) == parallel && !first() {
			return
		}
	}
	for len(begun) > 0 {
		if !first() {
			return
		}
	}
	if failed != nil {
		yield(BulkResult{}, failed)
	}
}

// outliving is a context that ends so long after another. stop ends it, and is to be called.
func outliving(ctx context.Context, grace time.Duration) (_ context.Context, stop func()) {
	out, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		select {
		case <-ctx.Done():
		case <-out.Done():
			return
		}
		t := time.NewTimer(grace)
		defer t.Stop()
		select {
		case <-t.C:
			cancel(context.Cause(ctx))
		case <-out.Done():
		}
	}()
	return out, func() {
		cancel(context.Canceled)
		<-ended
	}
}

// Count counts the runs that the filter selects.
func (a *App) Count(ctx context.Context, f ListFilter) (n int, err error) {
	for _, err := range a.List(ctx, f) {
		if err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}
