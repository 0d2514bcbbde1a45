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

// Create makes a blob, in the body of a step: of all that write writes, in pieces of 512 KiB, each durable before the
// next. It is the run's, and whole when Create returns. Where write fails, or panics, nothing is left of it.
//
// Return the Ref from the step, alone or within another value: what the result of the attempt does not name is deleted
// when the attempt ends. An attempt that is made again makes another blob. The writer is not safe for concurrent use,
// and must not be used when write has returned.
//
// Errors: that of write; [stepwell.ErrTooLarge] beyond [MaxSize]; [stepwell.ErrInvalid] outside a step's body, and in a
// [stepwell.Transactional] step; those of the store.
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

// From is [Create] of all that a reader gives.
func From(ctx context.Context, r io.Reader) (Ref, error) {
	if r == nil {
		return Ref{}, kit.Missing("create a blob: the reader")
	}
	return Create(ctx, copies(r))
}

// Put makes a blob in a program, for a run that is there, or will be: one that the program starts with
// [stepwell.RunID]. The Ref may be in the input of that run, in what it is sent, or in what it reads elsewhere. What is
// put for a run that does not come to be is deleted a day later, else it goes with the run.
//
//	ref, err := blob.Put(ctx, app, "import-2026-05", file)
//	...
//	run, err := Import.Start(ctx, app, ref, stepwell.RunID("import-2026-05"))
//
// Errors: that of r; [stepwell.ErrTooLarge] beyond [MaxSize]; [stepwell.ErrInvalid] for what is no run ID; those of the
// store.
func Put(ctx context.Context, app *stepwell.App, run string, r io.Reader) (Ref, error) {
	switch {
	case app == nil:
		return Ref{}, kit.Missing("put a blob: the App")
	case r == nil:
		return Ref{}, kit.Missing("put a blob: the reader")
	}
	able, err := valuesOf(app)
	if err == nil {
		err = world.CheckRunID(run)
	}
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
	to := apart.NewWriter(ctx, able, run, MaxSize)
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

func valuesOf(app *stepwell.App) (world.ApartKeeper, error) {
	k := kit.AppOf(app).Values
	if k == nil {
		return nil, fmt.Errorf("%w: this store does not keep large values", world.ErrInvalid)
	}
	return k, nil
}
