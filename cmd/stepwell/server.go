package main

// This file serves a database over HTTP.

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/server"
)

func (c *cli) server() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "server",
		Short: "Serve a database over HTTP: the REST API",
		Long: `Serve a database over HTTP: start runs, look at them, signal and operate them, and follow their logs. The database is made where there is
none. It runs no workflows: workers do, beside it, on the same database. docs/server.md has the routes and an hour with curl.

Each setting is a flag, and the environment variable behind it. Without API keys it listens on the loopback alone, and everybody on this
machine may do everything.

` + exitCodes,
		Example: `  stepwell server --db sqlite:app.db
  STEPWELL_API_KEY=operator:ci:$(openssl rand -hex 24) stepwell server --db postgres://app@db.internal/app --listen :7373`,
		Args: arguments(0, 0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := c.serverConfig(cmd.Flags())
			if err != nil {
				return err
			}
			ctx, stop := signal.NotifyContext(cmd.Context(), syscall.SIGTERM)
			defer stop()
			return c.withNew(ctx, func(db *database) error { return c.serve(ctx, db, cfg) })
		},
	}
	addSettings(cmd.Flags())
	return cmd
}

func (c *cli) serve(ctx context.Context, db *database, cfg *serverConfig) error {
	log := slog.New(cfg.handler(c.stderr))
	app, err := stepwell.New(db.world, stepwell.Config{Name: c.who, MaxRetention: cfg.retention, Logger: log})
	if err != nil {
		return err
	}
	cfg.options.Logger = log
	s, err := server.New(app, cfg.options)
	if err != nil {
		return usagef("see stepwell server --help", "%w", err)
	}
	l, err := s.Listen(ctx, cfg.listen)
	if errors.Is(err, stepwell.ErrInvalid) {
		return usagef("make a key:  STEPWELL_API_KEY=operator:me:$(openssl rand -hex 24); or, where the network lets in nobody else, --insecure", "%w", err)
	}
	if err != nil {
		return err
	}
	fmt.Fprintf(c.stdout, "Stepwell serves %s on http://%s\n", c.place, l.Addr())
	if len(cfg.options.Keys) == 0 && cfg.options.Insecure {
		log.Warn("no API keys: whoever reaches this address may do everything", "address", l.Addr().String())
	}
	started := time.Now()
	err = s.Serve(ctx, l, cfg.serving)
	log.Info("stopped", "after", time.Since(started).Round(time.Second).String())
	return err
}
