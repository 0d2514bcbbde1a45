package demo

// This file is the demo's worker process: the same program, started again by the demo.

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/world"
)

// Work is the worker process. It works until stdin ends, which it does when the demo is over or has died. An interrupt of the
// terminal is the demo's to handle. The database is STEPWELL_DB's.
func Work(ctx context.Context, dir string, stdin io.Reader, stderr io.Writer) (err error) {
	ctx, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	go func() { // nobody can interrupt the read; it ends with the process
		_, _ = io.Copy(io.Discard, stdin)
		stop()
	}()
	f, err := os.OpenFile(filepath.Join(dir, Bodies), os.O_APPEND|os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	w, err := world.Open(ctx, os.Getenv("STEPWELL_DB"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	b := &bodies{f}
	step := reserve(b)
	app, err := stepwell.New(w, stepwell.Config{
		Definitions: []stepwell.Definition{onboard(b), fulfil(b, step), step},
		Logger:      slog.New(slog.NewTextHandler(stderr, &slog.HandlerOptions{Level: slog.LevelWarn})),
	})
	if err != nil {
		return err
	}
	return app.Run(ctx)
}
