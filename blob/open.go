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

// Open reads a blob, in the body of any step of a run that holds it. A piece of 512 KiB is in memory at a time. It may
// be opened as often as is wanted, at once too; each reader is for one goroutine, and ends with ctx. Who closes one
// early has cost nothing.
//
// The reader ends with [io.EOF] where all was read, and is what was written; with another error what was read is not to
// be used.
//
// Errors, of Open and of the reader: [stepwell.ErrNotFound] for what the run does not hold: a blob of another run, or
// one that nobody has made; [stepwell.ErrInvalid] for a Ref that is empty or made by hand, and outside a step's body;
// [stepwell.ErrNoKey]; [world.ErrCorrupt] for what is damaged, or not as the Ref says; those of the store.
func Open(ctx context.Context, ref Ref) (io.ReadCloser, error) {
	k, run, err := engine.Values(ctx)
	if err != nil {
		return nil, fmt.Errorf("open a blob: %w", err)
	}
	return open(ctx, k, run, ref)
}

// Read reads a blob in a program: one that a run holds, as long as that is kept. It is [Open] else.
//
//	report, err := run.Result(ctx)
//	...
//	r, err := blob.Read(ctx, app, run.ID(), report.Pages)
func Read(ctx context.Context, app *stepwell.App, run string, ref Ref) (io.ReadCloser, error) {
	if app == nil {
		return nil, kit.Missing("read a blob: the App")
	}
	k, err := valuesOf(app)
	if err == nil {
		err = world.CheckRunID(run)
	}
	if err != nil {
		return nil, fmt.Errorf("read a blob: %w", err)
	}
	return open(ctx, k, run, ref)
}

func open(ctx context.Context, k world.ApartKeeper, run string, ref Ref) (io.ReadCloser, error) {
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
