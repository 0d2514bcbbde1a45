package cli

// The server as people start it: the curl lines of docs/server.md, one by one, its settings, its health.

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/webhook"
	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/sqlite"
)

var serverPage = filepath.Join("..", "..", "docs", "server.md")

// served runs stepwell server until the test ends, and returns its address.
func served(t *testing.T, env map[string]string, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	out, in := io.Pipe()
	var running sync.WaitGroup
	code := -1
	var errs strings.Builder
	running.Go(func() {
		code = run(ctx, append([]string{"server", "--listen", "127.0.0.1:0"}, args...), &shell{
			stdin: strings.NewReader(""), stdout: in, stderr: &errs, getenv: func(k string) string { return env[k] },
			now: world.Now, zone: time.UTC, who: "ann@laptop",
		})
		_ = in.Close()
	})
	t.Cleanup(func() {
		cancel()
		go func() { _, _ = io.Copy(io.Discard, out) }() // what it still says
		running.Wait()
		if code != exitOK {
			t.Errorf("server: got exit code %d, want 0: %s", code, errs.String())
		}
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	_, at, found := strings.Cut(strings.TrimSpace(line), " on http")
	_, addr, _ := strings.Cut(at, "://")
	if err != nil || !found {
		t.Fatalf("server: got %q, %v, want its address", line, err)
	}
	return addr
}

// The workflow of the page.
var shipOrder = stepwell.Define("order", func(ctx stepwell.Context, in struct {
	Customer string `json:"customer"`
	Cents    int    `json:"cents"`
}) (string, error) {
	_, err := stepwell.Step(ctx, "reserve", func(context.Context) (int, error) {
		if in.Cents == 0 {
			return 0, stepwell.Fatal(errors.New("nothing to pay"))
		}
		return in.Cents, nil
	})
	if err != nil {
		return "", err
	}
	courier, err := stepwell.NewHook[string](ctx, stepwell.Token("courier-"+in.Customer))
	if err != nil {
		return "", err
	}
	if _, ok, err := stepwell.Event[json.RawMessage]("paid").Wait(ctx, stepwell.Timeout(24*time.Hour)); err != nil || !ok {
		return "not paid", err
	}
	if err := stepwell.Sleep(ctx, "pack", time.Hour); err != nil {
		return "", err
	}
	by, _, err := courier.Wait(ctx)
	return "shipped by " + by, err
})

// works runs a worker until the test ends, for the page's workflows unless told.
func works(t *testing.T, w world.World, defs ...stepwell.Definition) *stepwell.App {
	t.Helper()
	if defs == nil {
		defs = []stepwell.Definition{shipOrder, confirmPayments}
	}
	app, err := stepwell.New(w, stepwell.Config{Definitions: defs})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- app.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := errors.Join(<-ended, w.Close()); err != nil {
			t.Error(err)
		}
	})
	for _, d := range app.Manifest().Workflows {
		untilKnown(t, app, d.Name)
	}
	return app
}

// untilKnown waits until a live worker is known to have a workflow: what it accepts is checked from then on.
func untilKnown(t *testing.T, app *stepwell.App, workflow string) {
	t.Helper()
	for end := time.Now().Add(time.Minute); time.Now().Before(end); <-time.After(time.Millisecond) {
		known, err := app.Schemas(t.Context(), workflow, 0)
		if err != nil {
			t.Fatal(err)
		}
		if known.Version > 0 {
			return
		}
	}
	t.Fatalf("no worker is known to have %s", workflow)
}

// TestServerWalk executes the page on SQLite, worker and server on one file.
func TestServerWalk(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "app.db")
	w, err := sqlite.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	works(t, w)
	walkPage(t, served(t, nil, "--db", path), serverPage, 25)
}

// TestWebhookWalk executes the page about webhooks, likewise.
func TestWebhookWalk(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "app.db")
	w, err := sqlite.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	works(t, w)
	walkPage(t, served(t, nil, "--db", path), filepath.Join("..", "..", "docs", "webhooks.md"), 6)
}

// confirmPayments is the workflow of the page about webhooks.
var confirmPayments = stepwell.Define("payment", func(ctx stepwell.Context, in struct {
	ID    string `json:"id"`
	Cents int    `json:"cents"`
}) (string, error) {
	hook, err := webhook.New(ctx, webhook.Token("order-"+in.ID), webhook.RespondManually(10*time.Second))
	if err != nil {
		return "", err
	}
	for req, err := range hook.All(ctx) {
		if err != nil {
			return "", err
		}
		var paid struct {
			Cents int `json:"cents"`
		}
		if err := req.Decode(&paid); err != nil || paid.Cents < in.Cents {
			if err := req.Respond(ctx, webhook.Response{Status: 422, Body: []byte("too little\n")}); err != nil {
				return "", err
			}
			continue
		}
		if err := req.Respond(ctx, webhook.Response{Body: []byte("thank you\n")}); err != nil {
			return "", err
		}
		break
	}
	return "paid", hook.Dispose(ctx)
})

// walkPage executes the curl lines of the page in order, and finds what the page shows in what each answers.
func walkPage(t *testing.T, addr, page string, least int) {
	t.Helper()
	defer http.DefaultClient.CloseIdleConnections()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, block := range regexp.MustCompile("(?s)```console\n(.*?)```").FindAllStringSubmatch(strings.ReplaceAll(string(text), "\r\n", "\n"), -1) {
		for _, call := range strings.Split(block[1], "$ ")[1:] {
			command, shown, _ := strings.Cut(call, "\n")
			n++
			if !t.Run(fmt.Sprintf("line %d", n), func(t *testing.T) { walkLine(t, addr, command, shown) }) {
				return // the next lines build on it
			}
		}
	}
	if n < least {
		t.Errorf("got %d curl lines, want the page's", n)
	}
}

// walkLine executes a line. What only looks is repeated until it sees what is shown: a worker is at it.
func walkLine(t *testing.T, addr, command, shown string) {
	t.Helper()
	c := curl(t, addr, command)
	// What a killed process had received is ready again after half a minute.
	for limit := time.Now().Add(time.Minute); ; {
		got := c.do(t)
		if shows(got, shown) {
			return
		}
		if c.method != http.MethodGet || time.Now().After(limit) {
			t.Fatalf("$ %s\ngot  %s\nwant %s", command, got, shown)
		}
		<-time.After(5 * time.Millisecond)
	}
}

// shows reports whether an answer has what the page shows of it: JSON that contains it, in one of its lines, or its lines, in order.
func shows(got, shown string) bool {
	if strings.HasPrefix(shown, "{") || strings.HasPrefix(shown, "[") {
		for line := range strings.Lines(got) { // of several objects one
			if json.Valid([]byte(shown)) && world.Contains([]byte(line), []byte(shown)) {
				return true
			}
		}
		return false
	}
	for line := range strings.Lines(shown) {
		_, rest, found := strings.Cut(got, line)
		if !found {
			return false
		}
		got = rest
	}
	return true
}

// curled is what a curl line asks for.
type curled struct {
	method, url, body string
	header            http.Header
}

var word = regexp.MustCompile(`'([^']*)'|(\S+)`)

// curl reads a curl line: of curl's options those that the page uses.
func curl(t *testing.T, addr, line string) *curled {
	t.Helper()
	var words []string
	for _, m := range word.FindAllStringSubmatch(line, -1) {
		words = append(words, m[1]+m[2])
	}
	c := &curled{method: http.MethodGet, header: http.Header{}}
	if len(words) < 2 || words[0] != "curl" {
		t.Fatalf("%q is no curl line", line)
	}
	for i := 1; i < len(words); i++ {
		next := func() string {
			if i++; i == len(words) {
				t.Fatalf("%q breaks off", line)
			}
			return words[i]
		}
		switch words[i] {
		case "-s", "-N":
		case "-X":
			c.method = next()
		case "-H":
			name, value, _ := strings.Cut(next(), ": ")
			c.header.Set(name, value)
		case "--json":
			c.body, c.method = next(), http.MethodPost
			for _, name := range []string{"Content-Type", "Accept"} {
				if c.header.Get(name) == "" { // what -H says counts
					c.header.Set(name, "application/json")
				}
			}
		default:
			rest, ok := strings.CutPrefix(words[i], "localhost:7373/")
			if !ok || c.url != "" {
				t.Fatalf("%q: what is %q?", line, words[i])
			}
			c.url = "http://" + addr + "/" + rest
		}
	}
	return c
}

func (c *curled) do(t *testing.T) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), c.method, c.url, strings.NewReader(c.body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header = c.header
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(resp.Body)
	if err := errors.Join(err, resp.Body.Close()); err != nil {
		t.Fatal(err)
	}
	return string(body)
}

// TestServerSettings: the page has all settings as the code has them, -update writes it; each is read from flag, then environment.
func TestServerSettings(t *testing.T) {
	t.Parallel()
	var table strings.Builder
	table.WriteString("| flag | environment | default | |\n| --- | --- | --- | --- |\n")
	for i := range serverSettings {
		s := &serverSettings[i]
		def := ""
		if s.def != "" {
			def = " `" + s.def + "`"
		}
		fmt.Fprintf(&table, "| `--%s` | `%s` |%s | %s |\n", s.flag, s.env(), def, s.about)
		bad := "no such value"
		if s.flag == "listen" {
			continue // anything may be a host
		}
		for by, c := range map[string]call{"--" + s.flag: {}, s.env(): {env: map[string]string{s.env(): bad}}} {
			args := []string{"server", "--db", filepath.Join(t.TempDir(), "never.db")}
			if c.env == nil {
				args = append(args, by+"="+bad)
			}
			code, _, errs := c.do(t.Context(), args...)
			if code != exitUsage || !strings.Contains(errs, by+":") {
				t.Errorf("%s is %q: got exit code %d, %q, want it refused by name", by, bad, code, errs)
			}
		}
	}
	text, err := os.ReadFile(serverPage)
	if err != nil {
		t.Fatal(err)
	}
	page := strings.ReplaceAll(string(text), "\r\n", "\n")
	before, rest, _ := strings.Cut(page, "<!--settings-->\n")
	_, after, _ := strings.Cut(rest, "<!--/settings-->")
	want := before + "<!--settings-->\n" + table.String() + "<!--/settings-->" + after
	if *update && page != want {
		if err := os.WriteFile(serverPage, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if page != want {
		t.Errorf("%s does not have the settings as they are; -update writes\n%s", serverPage, &table)
	}
}

// TestServerConfig: flag before environment before what others call it before the default.
func TestServerConfig(t *testing.T) {
	t.Parallel()
	keys := filepath.Join(t.TempDir(), "keys")
	if err := os.WriteFile(keys, []byte("# keys\nviewer:vic:0123456789abcdef\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	env := map[string]string{
		"STEPWELL_MAX_BODY": "4096", "STEPWELL_MAX_WAIT": "5s", "WORKFLOWS_MAX_RETENTION_DAYS": "9", "WORKFLOWS_SWEEPER_INTERVAL_MS": "1500",
		"STEPWELL_API_KEY_FILE": keys, "STEPWELL_API_KEY": "admin:ann:fedcba9876543210",
	}
	read := func(env map[string]string, args ...string) (*serverConfig, error) {
		c := newCLI(&shell{getenv: func(k string) string { return env[k] }})
		cmd := serverCommand(c)
		if err := cmd.ParseFlags(args); err != nil {
			t.Fatal(err)
		}
		return serverConfigOf(c, cmd.Flags())
	}
	cfg, err := read(env, "--max-body=8192", "--insecure")
	if err != nil {
		t.Fatal(err)
	}
	if cfg.options.MaxBody != 8192 || cfg.options.MaxWait != 5*time.Second || cfg.retention != 9*24*time.Hour || cfg.serving.SweepInterval != 1500*time.Millisecond ||
		!cfg.options.Insecure || len(cfg.options.Keys) != 2 || cfg.listen != "127.0.0.1:7373" || cfg.options.Heartbeat != 15*time.Second {
		t.Errorf("got %+v", cfg)
	}
	env["STEPWELL_MAX_RETENTION_DAYS"], env["STEPWELL_SWEEP_INTERVAL"] = "3", "off"
	if cfg, err = read(env); err != nil || cfg.retention != 3*24*time.Hour || cfg.serving.SweepInterval != -1 {
		t.Errorf("our own names: got %+v, %v", cfg, err)
	}
	_, err = read(map[string]string{"WORKFLOWS_MAX_RETENTION_DAYS": "0", "WORKFLOWS_SWEEPER_INTERVAL_MS": "5m"}, "--api-key=admin:ann:short", "--log-format=xml")
	for _, want := range []string{"WORKFLOWS_MAX_RETENTION_DAYS", "WORKFLOWS_SWEEPER_INTERVAL_MS", "--api-key", "--log-format"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want all faults, %s too", err, want)
		}
	}
}

// TestServerRefuses: a public address without keys, and what is no address, is refused before anything is served.
func TestServerRefuses(t *testing.T) {
	t.Parallel()
	db := filepath.Join(t.TempDir(), "app.db")
	for at, next := range map[string]string{":0": "openssl rand", "0.0.0.0:0": "openssl rand", "nonsense": "give host:port, such as", "127.0.0.1": "give host:port, such as"} {
		code, out, errs := call{}.do(t.Context(), "server", "--db", db, "--listen", at)
		if code != exitUsage || out != "" || !strings.Contains(errs, next) {
			t.Errorf("--listen %s: got %d, %q, %q, want it refused, and %q", at, code, out, errs, next)
		}
	}
}

// TestHealth asks a server that is there, and one that is not.
func TestHealth(t *testing.T) {
	t.Parallel()
	addr := served(t, map[string]string{"STEPWELL_DB": filepath.Join(t.TempDir(), "app.db"), "STEPWELL_API_KEY": "admin:ann:fedcba9876543210"})
	code, out, errs := call{}.do(t.Context(), "health", "http://"+addr)
	if code != exitOK || !strings.Contains(out, "/healthz  ok") || !strings.Contains(out, "/readyz   ok") {
		t.Errorf("got %d, %q, %q, want ok twice", code, out, errs)
	}
	code, out, _ = call{}.do(t.Context(), "health", "http://"+addr, "--json")
	var is asked
	if err := json.NewDecoder(strings.NewReader(out)).Decode(&is); err != nil || code != exitOK || !is.Healthy || is.Version == "" {
		t.Errorf("--json: got %d, %s, %v", code, out, err)
	}
	code, out, errs = call{}.do(t.Context(), "health", "http://ann:hunter2@127.0.0.1:1")
	if code != exitFailure || !strings.Contains(errs, "/healthz and /readyz") || strings.Contains(out+errs, "hunter2") {
		t.Errorf("nobody there: got %d, %q, %q", code, out, errs)
	}
	if code, _, _ = (call{}).do(t.Context(), "health", "ftp://x"); code != exitUsage {
		t.Errorf("no URL: got %d, want %d", code, exitUsage)
	}
}
