package cli

// This file has the settings of the server: one table of flags, environment variables, defaults and what they mean.

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/stepwell/stepwell/keyring"
	"github.com/stepwell/stepwell/server"
)

// serverConfig is what the settings say.
type serverConfig struct {
	listen     string
	options    server.Options
	serving    server.Serving
	retention  time.Duration
	deliveries time.Duration // 0: the default
	encryption *keyring.Ring // nil: nothing is encrypted
	level      slog.Level
	json       bool
	tls        struct{ cert, key string } // files
	listening  func(url string)           // is told in the place of standard output
}

func (c *serverConfig) handler(to io.Writer) slog.Handler {
	o := &slog.HandlerOptions{Level: c.level}
	if c.json {
		return slog.NewJSONHandler(to, o)
	}
	return slog.NewTextHandler(to, o)
}

// defaultListen is where a server listens that was told nothing.
const defaultListen = "127.0.0.1:7373"

// setting is one thing that can be set.
type setting struct {
	flag  string
	def   string
	about string
	set   func(c *serverConfig, value string) error

	also     string                                    // another environment variable, that others know it by
	setAlso  func(c *serverConfig, value string) error // of that variable, which may count otherwise
	isSwitch bool                                      // --flag alone is true
}

// env is the setting's environment variable.
func (s *setting) env() string {
	return "STEPWELL_" + strings.ToUpper(strings.ReplaceAll(s.flag, "-", "_"))
}

var serverSettings = []setting{
	{flag: "listen", def: defaultListen, about: "host:port to listen on; a public address needs API keys",
		set: func(c *serverConfig, v string) error { c.listen = v; return nil }},
	{flag: "api-key", about: "API keys, scope:name:secret, separated by commas",
		set: func(c *serverConfig, v string) error { return c.addKeys(v) }},
	{flag: "api-key-file", about: "a file of API keys, one a line; a secret may be sha256=HEX", set: (*serverConfig).readKeys},
	{flag: "webhook-secret", about: "secrets of webhooks, name=secret, separated by commas; put one with a comma into the file",
		set: (*serverConfig).setSecrets},
	{flag: "webhook-secret-file", about: "a file of such secrets, one a line", set: (*serverConfig).readSecrets},
	{flag: "insecure", def: "false", about: "listen on a public address without API keys", isSwitch: true,
		set: func(c *serverConfig, v string) (err error) { c.options.Insecure, err = parseSwitch(v); return err }},
	{flag: "tls-cert", about: "a PEM file with the TLS certificate and any intermediate ones",
		set: func(c *serverConfig, v string) error { c.tls.cert = v; return isFile(v) }},
	{flag: "tls-key", about: "a PEM file with its private key", set: func(c *serverConfig, v string) error { c.tls.key = v; return isFile(v) }},
	{flag: "ui", def: "true", about: "serve the web UI, /ui/, and the documentation, /docs/", isSwitch: true,
		set: func(c *serverConfig, v string) error {
			on, err := parseSwitch(v)
			c.options.NoUI = !on
			return err
		}},
	{flag: "max-body", def: "2097152", about: "largest request body in bytes; an input may have STEPWELL_MAX_VALUE, a payload 1 MiB", set: wholeInto(1024, 64<<20, func(c *serverConfig, n int64) { c.options.MaxBody = n })},
	{flag: "max-header", def: "65536", about: "largest request header in bytes", set: wholeInto(4096, 1<<20, func(c *serverConfig, n int64) { c.serving.MaxHeader = int(n) })},
	{flag: "max-connections", def: "2000", about: "connections at once; a further one waits, or an idle one is closed", set: wholeInto(1, 1_000_000, func(c *serverConfig, n int64) { c.serving.MaxConnections = int(n) })},
	{flag: "max-per-address", def: "1000", about: "connections of one address at once; a proxy is one address", set: wholeInto(1, 1_000_000, func(c *serverConfig, n int64) { c.serving.MaxPerAddress = int(n) })},
	{flag: "max-answers", def: "67108864", about: "bytes of answers in memory at once, half of them for one key; further requests wait", set: wholeInto(1<<20, 1<<40, func(c *serverConfig, n int64) { c.options.MaxAnswers = n })},
	{flag: "max-bodies", def: "67108864", about: "bytes of request bodies in memory at once, half of them for one key or address; further requests wait", set: wholeInto(1<<20, 1<<40, func(c *serverConfig, n int64) { c.options.MaxBodies = n })},
	{flag: "max-waiting", def: "1000", about: "requests at once that wait for a result or follow events; further ones get BUSY", set: wholeInto(1, 1_000_000, func(c *serverConfig, n int64) { c.options.MaxWaiting = int(n) })},
	{flag: "max-wait", def: "60s", about: "how long a request may wait for a result", set: spanInto(func(c *serverConfig, d time.Duration) { c.options.MaxWait = d })},
	{flag: "header-timeout", def: "10s", about: "how long a request's header may take to arrive", set: spanInto(func(c *serverConfig, d time.Duration) { c.serving.HeaderTimeout = d })},
	{flag: "read-timeout", def: "30s", about: "how long a request's body may take to arrive", set: spanInto(func(c *serverConfig, d time.Duration) { c.options.ReadTimeout = d })},
	{flag: "write-timeout", def: "30s", about: "how long a client may take to read an answer, or the next piece of it", set: spanInto(func(c *serverConfig, d time.Duration) { c.options.WriteTimeout = d })},
	{flag: "idle-timeout", def: "2m", about: "how long an idle connection is kept", set: spanInto(func(c *serverConfig, d time.Duration) { c.serving.IdleTimeout = d })},
	{flag: "heartbeat", def: "15s", about: "time between comments on a quiet event stream", set: spanInto(func(c *serverConfig, d time.Duration) { c.options.Heartbeat = d })},
	{flag: "shutdown-timeout", def: "10s", about: "how long requests may take to finish at a shutdown", set: spanInto(func(c *serverConfig, d time.Duration) { c.serving.Shutdown = d })},
	{flag: "max-retention-days", about: "lower the database's limit on how long ended runs are kept (default: the current limit, or 365); see stepwell retention",
		also: "WORKFLOWS_MAX_RETENTION_DAYS", set: setRetention},
	{flag: "sweep-interval", def: "5m", about: "time between deletions of ended runs whose retention is over; off: never here",
		also: "WORKFLOWS_SWEEPER_INTERVAL_MS", set: setSweep,
		setAlso: wholeInto(1, 1<<40, func(c *serverConfig, n int64) { c.serving.SweepInterval = time.Duration(n) * time.Millisecond })},
	{flag: "keep-deliveries", def: "24h", about: "how long at least a delivery ID is remembered; the same for all programs of a database",
		set: spanInto(func(c *serverConfig, d time.Duration) { c.deliveries = d })},
	{flag: "encryption-keys", about: "keys that encrypt payloads, ID:BASE64, separated by commas, the one for new runs first", set: (*serverConfig).setEncryption},
	{flag: "encryption-key-file", about: "a file of such keys, one a line", set: (*serverConfig).readEncryption},
	{flag: "push", about: "URLs of push endpoints, separated by commas; see docs/workers.md",
		set: (*serverConfig).setPush},
	{flag: "push-secret", about: "secrets that sign messages to the endpoints, separated by commas, so that you can rotate them",
		set: func(c *serverConfig, v string) error { return c.addPushSecrets(v) }},
	{flag: "push-secret-file", about: "a file of such secrets, one a line", set: (*serverConfig).readPushSecrets},
	{flag: "push-concurrency", def: "32", about: "messages that an endpoint may have at once", set: wholeInto(1, 10_000, func(c *serverConfig, n int64) { c.options.Push.Concurrency = int(n) })},
	{flag: "push-margin", def: "30s", about: "how much longer than its slice an endpoint may take to answer", set: spanInto(func(c *serverConfig, d time.Duration) { c.options.Push.Margin = d })},
	{flag: "push-refresh", def: "1m", about: "time between checks of an endpoint", set: spanInto(func(c *serverConfig, d time.Duration) { c.options.Push.Refresh = d })},
	{flag: "push-failures", def: "5", about: "failures in a row after which an endpoint gets nothing until it is healthy", set: wholeInto(1, 1000, func(c *serverConfig, n int64) { c.options.Push.Failures = int(n) })},
	{flag: "private-endpoints", def: "false", about: "post to private addresses and this machine if a topic subscription allows it", isSwitch: true,
		set: func(c *serverConfig, v string) (err error) {
			c.options.PrivateEndpoints, err = parseSwitch(v)
			return err
		}},
	{flag: "log-level", def: "info", about: "debug, info, warn or error", set: setLevel},
	{flag: "log-format", def: "text", about: "log format on stderr: text or json", set: func(c *serverConfig, v string) error {
		if c.json = v == "json"; !c.json && v != "text" {
			return errors.New("want text or json")
		}
		return nil
	}},
}

func setRetention(c *serverConfig, v string) error {
	if v == "" {
		return nil
	}
	return wholeInto(1, 36525, func(c *serverConfig, n int64) { c.retention = time.Duration(n) * 24 * time.Hour })(c, v)
}

func addSettings(fl *pflag.FlagSet) {
	for i := range serverSettings {
		s := &serverSettings[i]
		about := s.about + " (env " + s.env() + ")"
		fl.String(s.flag, s.def, about)
		if s.isSwitch {
			fl.Lookup(s.flag).NoOptDefVal = "true"
		}
	}
}

// serverConfigOf reads the settings: flag, then environment, then default. All faults are told at once, each with the name it was set by.
func serverConfigOf(c *cli, fl *pflag.FlagSet) (*serverConfig, error) {
	cfg := &serverConfig{}
	var errs []error
	for i := range serverSettings {
		s := &serverSettings[i]
		value, by, set := s.def, "the default of --"+s.flag, s.set
		if f := fl.Lookup(s.flag); f.Changed {
			value, by = f.Value.String(), "--"+s.flag
		} else if v := c.getenv(s.env()); v != "" {
			value, by = v, s.env()
		} else if v := alsoOf(c, s); v != "" {
			value, by = v, s.also
			if s.setAlso != nil {
				set = s.setAlso
			}
		}
		if err := set(cfg, value); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", by, err))
		}
	}
	if (cfg.tls.cert == "") != (cfg.tls.key == "") {
		errs = append(errs, errors.New("--tls-cert and --tls-key go together, and one is missing"))
	}
	if err := cfg.checkPush(); err != nil {
		errs = append(errs, err)
	}
	if err := errors.Join(errs...); err != nil {
		return nil, usagef("see stepwell server --help", "%w", err)
	}
	c.keepDeliveries(cfg.deliveries)
	return cfg, nil
}

func alsoOf(c *cli, s *setting) string {
	if s.also == "" {
		return ""
	}
	return c.getenv(s.also)
}

func (c *serverConfig) addKeys(text string) error {
	keys, err := server.ParseKeys(text)
	c.options.Keys = append(c.options.Keys, keys...)
	return err
}

// setSecrets adds those of a line. Each is read by itself: nobody counts lines there.
func (c *serverConfig) setSecrets(line string) error {
	var errs []error
	for secret := range strings.SplitSeq(line, ",") {
		errs = append(errs, c.addSecrets(secret))
	}
	return errors.Join(errs...)
}

func (c *serverConfig) addSecrets(text string) error {
	secrets, err := server.ParseWebhookSecrets(text)
	c.options.WebhookSecrets = append(c.options.WebhookSecrets, secrets...)
	return err
}

// mostKeyFile bounds a file that is no file of keys.
const mostKeyFile = 1 << 20

// readBounded reads a small file.
func readBounded(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }() // it was read
	text, err := io.ReadAll(io.LimitReader(f, mostKeyFile))
	return string(text), err
}

func (c *serverConfig) readSecrets(path string) error {
	if path == "" {
		return nil
	}
	text, err := readBounded(path)
	if err != nil {
		return err
	}
	before := len(c.options.WebhookSecrets)
	if err := c.addSecrets(text); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if len(c.options.WebhookSecrets) == before {
		return fmt.Errorf("%s has no secrets", path)
	}
	return nil
}

func (c *serverConfig) readKeys(path string) error {
	if path == "" {
		return nil
	}
	text, err := readBounded(path)
	if err != nil {
		return err
	}
	before := len(c.options.Keys)
	if err := c.addKeys(text); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if len(c.options.Keys) == before {
		return fmt.Errorf("%s has no keys", path)
	}
	return nil
}

// isFile refuses what cannot be opened.
func isFile(path string) error {
	if path == "" {
		return nil
	}
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return f.Close()
}

func parseSwitch(v string) (bool, error) {
	on, err := strconv.ParseBool(v)
	if err != nil {
		return false, fmt.Errorf("%q: want true or false", v)
	}
	return on, nil
}

// wholeInto sets a whole number.
func wholeInto(least, most int64, into func(*serverConfig, int64)) func(*serverConfig, string) error {
	return func(c *serverConfig, v string) error {
		n, err := strconv.ParseInt(v, 10, 64)
		if err != nil || n < least || n > most {
			return fmt.Errorf("%q: want a whole number from %d to %d", v, least, most)
		}
		into(c, n)
		return nil
	}
}

// spanInto sets a duration above zero.
func spanInto(into func(*serverConfig, time.Duration)) func(*serverConfig, string) error {
	return func(c *serverConfig, v string) error {
		d, err := server.ParseDuration(v)
		if err != nil || d <= 0 {
			return fmt.Errorf("%q: want a duration above zero, like 90s, 5m or 2h", v)
		}
		into(c, d)
		return nil
	}
}

func setSweep(c *serverConfig, v string) error {
	if v == "off" {
		c.serving.SweepInterval = -1
		return nil
	}
	return spanInto(func(c *serverConfig, d time.Duration) { c.serving.SweepInterval = d })(c, v)
}

func setLevel(c *serverConfig, v string) error {
	if err := c.level.UnmarshalText([]byte(v)); err != nil {
		return fmt.Errorf("%q: want debug, info, warn or error", v)
	}
	return nil
}
