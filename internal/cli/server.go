package cli

// This file serves a database over HTTP.

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/server"
	"github.com/stepwell/stepwell/telemetry"
)

func serverCommand(c *cli) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "server",
		Short: "Serve a database over HTTP: the REST API and the web UI",
		Long: `Serve a database over HTTP: start runs, look at them, signal and control them, and follow their logs. The web UI is below
/ui/. The database is created if it does not exist. The server runs no workflows: workers do, on the same database. See
docs/server.md for the routes and a tour with curl.

Each setting is a flag and an environment variable. Without API keys the server listens only on the loopback address, and
everyone on this machine may do everything. GET /metrics is for Prometheus, and the OTEL_* variables say where spans go:
docs/telemetry.md.

` + exitHelp,
		Example: `  stepwell server --db sqlite:app.db
  STEPWELL_API_KEY=operator:ci:$(openssl rand -hex 24) stepwell server --db postgres://app@db.internal/app --listen :7373`,
		Args: arguments(0, 0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			c.forDatabase()
			cfg, err := serverConfigOf(c, cmd.Flags())
			if err != nil {
				return err
			}
			ctx, stop := signal.NotifyContext(cmd.Context(), syscall.SIGTERM)
			defer stop()
			return c.withNew(ctx, func(db *database) error { return serveWorld(ctx, c, db, cfg) })
		},
	}
	addSettings(cmd.Flags())
	return cmd
}

func serveWorld(ctx context.Context, c *cli, db *database, cfg *serverConfig) error {
	log := slog.New(cfg.handler(c.stderr))
	tel, err := telemetry.New(telemetry.Options{World: db.world, Totals: true, Logger: log})
	if err != nil {
		return usagef("see docs/telemetry.md for the OTEL_* variables", "%w", err)
	}
	defer stopTelemetry(ctx, tel, log)
	if r := db.world.Abilities().Reporter; r != nil {
		defer r.Report(log)()
	}
	app, err := stepwell.New(db.world, stepwell.Config{Name: c.who, MaxRetention: cfg.retention, Logger: log, Observer: tel.Observer(), Encryption: cfg.encryption})
	if err != nil {
		return err
	}
	if err := sayRetention(ctx, db.world, cfg.retention, log); err != nil {
		return err
	}
	defer func() { _ = app.Close() }() // it gives what it has counted
	cfg.options.Logger, cfg.options.Metrics = log, tel.Handler()
	cfg.options.Version = version
	s, err := server.New(app, cfg.options)
	if err != nil {
		return usagef("see stepwell server --help", "%w", err)
	}
	scheme := "http"
	if cfg.tls.cert != "" {
		if cfg.serving.Certificate, err = server.ReadCertificate(cfg.tls.cert, cfg.tls.key, log); err != nil {
			return usagef("give the files of a certificate and its key, PEM", "--tls-cert, --tls-key: %w", err)
		}
		scheme = "https"
		defer reloads(cfg.serving.Certificate)()
	}
	if _, _, err := net.SplitHostPort(cfg.listen); err != nil {
		return usagef("give host:port, such as 127.0.0.1:7373 or :7373", "--listen: %q has no port, or is not an address", cfg.listen)
	}
	l, err := s.Listen(ctx, cfg.listen)
	if errors.Is(err, stepwell.ErrWrongKey) {
		return &fault{exitFailure, err, "give the original key for this ID; see them all:  " + c.command("keys check")}
	}
	if errors.Is(err, stepwell.ErrInvalid) {
		return usagef("create a key:  STEPWELL_API_KEY=operator:me:$(openssl rand -hex 24); or, if your network keeps others out, use --insecure", "%w", err)
	}
	if err != nil {
		return err
	}
	if at := scheme + "://" + l.Addr().String(); cfg.listening != nil {
		cfg.listening(at)
	} else {
		fmt.Fprintf(c.stdout, "Stepwell serves %s on %s\n", c.place(), at)
	}
	for _, risk := range cfg.risks(l.Addr()) {
		log.Warn(risk, "address", l.Addr().String())
	}
	started := time.Now()
	err = s.Serve(ctx, l, cfg.serving)
	log.Info("stopped", "after", time.Since(started).Round(time.Second).String())
	return err
}

// stopTelemetry sends what spans are left, for a few seconds.
func stopTelemetry(ctx context.Context, tel *telemetry.Telemetry, log *slog.Logger) {
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	if err := tel.Shutdown(last); err != nil {
		log.Warn("some spans were not sent", "err", err)
	}
}

// risks are what is dangerous about serving at an address.
func (c *serverConfig) risks(at net.Addr) (risks []string) {
	if len(c.options.Keys) == 0 && c.options.Insecure {
		risks = append(risks, "no API keys: anyone who reaches this address may do everything")
	}
	if tcp, ok := at.(*net.TCPAddr); ok && !tcp.IP.IsLoopback() && c.serving.Certificate == nil {
		risks = append(risks, "no TLS on a public address: others can read keys and payloads on the way, unless a proxy in front provides it; see --tls-cert")
	}
	return risks
}

// reloads reads the certificate anew at each SIGHUP, until stop is called; Windows has none.
func reloads(of *server.Certificate) (stop func()) {
	hangups, done := make(chan os.Signal, 1), make(chan struct{})
	signal.Notify(hangups, syscall.SIGHUP)
	go func() {
		defer close(done)
		for range hangups {
			_ = of.Reload() // it says in the log what it did
		}
	}()
	return func() {
		signal.Stop(hangups)
		close(hangups)
		<-done
	}
}
