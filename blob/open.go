package blob

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/internal/apart"
	"github.com/stepwell/stepwell/internal/engine"
	"github.com/stepwell/stepwell/internal/kit"
	"github.com/stepwell/stepwell/world"
)

// Open reads a blob, in the body of a step of a run that holds it. It keeps one piece of 512 KiB in
// memory. You may open a blob repeatedly, also at once. A reader is not safe for concurrent use,
// ends with ctx, and may be closed early.
//
// Trust the data only after [io.EOF]. After any other error, discard it.
//
// Errors, of Open and of the reader: [stepwell.ErrNotFound] if the run does not hold the blob;
// [stepwell.ErrInvalid] for a Ref that is empty or made by hand, and outside a step's body;
// [stepwell.ErrNoKey]; [world.ErrCorrupt] for damaged data; those of the store.
func Open(ctx context.Context, ref Ref) (io.ReadCloser, error) {
	k, run, err := engine.Values(ctx)
	if err != nil {
		return nil, fmt.Errorf("open a blob: %w", err)
	}
	return open(ctx, k, run, ref)
}

// Read is [Open] outside a step: it reads a blob that a run holds, for as long as the run is kept.
//
//	report, err := run.Result(ctx)
//	...
//	r, err := blob.Read(ctx, app, run.ID(), report.Pages)
func Read(ctx context.Context, app *stepwell.App, run string, ref Ref) (io.ReadCloser, error) {
	if app == nil {
		return nil, kit.Missing("read a blob: the App")
	}
	if err := world.CheckRunID(run); err != nil {
		return nil, fmt.Errorf("read a blob: %w", err)
	}
	return open(ctx, kit.AppOf(app).Values, run, ref)
}

func open(ctx context.Context, k world.Values, run string, ref Ref) (io.ReadCloser, error) {
	if err := ref.check(); err != nil {
		return nil, err
	}
	from, err := apart.OpenHeld(ctx, k, run, ref.Blob)
	if err != nil {
		return nil, fmt.Errorf("open a blob: %w", err)
	}
	return &reader{from: from}, nil
}

// reader is a blob that is read.
type reader struct {
	mu   sync.Mutex // closing it elsewhere is allowed
	from io.Reader  // nil: closed; guarded by mu
}

var errClosed = errors.New("the blob's reader is closed")

// Read reads on.
func (r *reader) Read(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.from == nil {
		return 0, errClosed
	}
	return r.from.Read(p)
}

// Close ends the reader. Closing it again is no error.
func (r *reader) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.from = nil
	return nil
}
