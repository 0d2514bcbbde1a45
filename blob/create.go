package blob

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/internal/apart"
	"github.com/stepwell/stepwell/internal/engine"
	"github.com/stepwell/stepwell/internal/kit"
	"github.com/stepwell/stepwell/world"
)

// Create makes a blob of the bytes that write writes, in the body of a step. It stores pieces of
// 512 KiB, each durable before the next. The blob belongs to the step's run, and is complete when
// Create returns. If write fails or panics, nothing is left.
//
// Return the Ref from the step, alone or within another value: a blob that the attempt's result
// does not contain is deleted when the attempt ends. A further attempt makes another blob. The
// writer is not safe for concurrent use, and is invalid after write has returned.
//
// Errors: that of write; [stepwell.ErrTooLarge] beyond [MaxSize]; [stepwell.ErrInvalid] outside a
// step's body, and in a [stepwell.Transactional] step; those of the store.
func Create(ctx context.Context, write func(w io.Writer) error) (Ref, error) {
	if write == nil {
		return Ref{}, kit.Missing("create a blob: the function that writes it")
	}
	k, run, err := engine.Values(ctx)
	if err != nil {
		return Ref{}, fmt.Errorf("create a blob: %w", err)
	}
	to := apart.NewWriter(ctx, k, run, MaxSize)
	if err := engine.Makes(ctx, to.ID()); err != nil {
		return Ref{}, fmt.Errorf("create a blob: %w", err)
	}
	return finish(to, write)
}

// From is [Create] with the bytes of a reader.
func From(ctx context.Context, r io.Reader) (Ref, error) {
	if r == nil {
		return Ref{}, kit.Missing("create a blob: the reader")
	}
	return Create(ctx, copies(r))
}

// Put makes a blob outside a step, for a run that exists or that the program then starts with
// [stepwell.RunID]. Pass the Ref in the run's input, or in an event. If the run does not exist
// after a day, the blob is deleted. Otherwise it is deleted with the run.
//
//	ref, err := blob.Put(ctx, app, "import-2026-05", file)
//	...
//	run, err := Import.Start(ctx, app, ref, stepwell.RunID("import-2026-05"))
//
// Errors: that of r; [stepwell.ErrTooLarge] beyond [MaxSize]; [stepwell.ErrInvalid] for an invalid
// run ID; those of the store.
func Put(ctx context.Context, app *stepwell.App, run string, r io.Reader) (Ref, error) {
	switch {
	case app == nil:
		return Ref{}, kit.Missing("put a blob: the App")
	case r == nil:
		return Ref{}, kit.Missing("put a blob: the reader")
	}
	err := world.CheckRunID(run)
	var birth bool
	if err == nil {
		_, err = app.Get(ctx, run)
		if birth = errors.Is(err, world.ErrNotFound); birth {
			err = nil
		}
	}
	if err != nil {
		return Ref{}, fmt.Errorf("put a blob: %w", err)
	}
	to := apart.NewWriter(ctx, kit.AppOf(app).Values, run, MaxSize)
	to.ForBirth(birth)
	return finish(to, copies(r))
}

func copies(r io.Reader) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := w.(io.ReaderFrom).ReadFrom(r)
		return err
	}
}

// finish has a value written. What is not whole is dropped.
func finish(to *apart.Writer, write func(io.Writer) error) (ref Ref, err error) {
	whole := false
	defer func() { // also where write does not return
		if !whole {
			to.Drop()
		}
	}()
	if err := write(to); err != nil {
		return Ref{}, err
	}
	of, err := to.Finish()
	if err != nil {
		return Ref{}, fmt.Errorf("create a blob: %w", err)
	}
	whole = true
	return Ref{of}, nil
}
