package cli

// This file is the demo's worker process: the same program, started again by the demo.

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/world"
)

// The files of the demo, in its directory.
const (
	demoDatabase = "demo.db"
	demoBodies   = "bodies.jsonl"
)

func demoWorkerCommand(c *cli) *cobra.Command {
	return &cobra.Command{
		Use: "demo-worker DIR", Short: "The worker process of the demo", Hidden: true,
		Args: arguments(1, 1, "DIR"),
		RunE: func(cmd *cobra.Command, args []string) error { return workDemo(cmd.Context(), c, args[0]) },
	}
}

// workDemo works until standard input ends, which it does when the demo is over or has died. An interrupt of the terminal is the demo's to
// handle.
func workDemo(ctx context.Context, c *cli, dir string) (err error) {
	ctx, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	go func() { // nobody can interrupt the read; it ends with the process
		_, _ = io.Copy(io.Discard, c.stdin)
		stop()
	}()
	f, err := os.OpenFile(filepath.Join(dir, demoBodies), os.O_APPEND|os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	c.forDatabase()
	if err := c.locate(); err != nil {
		return err
	}
	w, err := world.Open(ctx, c.url())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	b := &bodies{f}
	step := reserve(b)
	app, err := stepwell.New(w, stepwell.Config{
		Definitions: []stepwell.Definition{onboard(b), fulfil(b, step), step},
		Logger:      slog.New(slog.NewTextHandler(c.stderr, &slog.HandlerOptions{Level: slog.LevelWarn})),
	})
	if err != nil {
		return err
	}
	return app.Run(ctx)
}
