package pgtest

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// Config says how a cluster is set up. The zero value is PostgreSQL's defaults, with fsync on.
type Config struct {
	// NoSync turns fsync off: see the package comment for why that is harmless here.
	NoSync bool
	// Settings are further settings of the server: name and value as in postgresql.conf.
	Settings map[string]string
	// Steps lets the server's wall clock be set; see [Cluster.SetClock].
	Steps bool
}

// Mode says how a server is stopped.
type Mode string

// The modes of pg_ctl stop.
const (
	Fast      Mode = "fast"      // transactions are rolled back, clients disconnected, then an orderly end
	Immediate Mode = "immediate" // as a crash: the next start recovers from the log
)

// ErrNotOurs is what stopping and starting a server returns that STEPWELL_TEST_POSTGRES named.
var ErrNotOurs = errors.New("the server was named by STEPWELL_TEST_POSTGRES: it cannot be stopped or started here; use pgtest.New for a cluster of the test's own")

// Cluster is a PostgreSQL server. It is safe for concurrent use.
type Cluster struct {
	admin *url.URL // of a role that may create databases, to the database postgres
	owner string   // the role that owns the databases; "": the admin's
	ours  bool

	bin, dir string
	port     int
	settings []string // arguments of postgres
	faker    string   // libfaketime; "": its clock is the machine's
	guard    *guard

	mu     sync.Mutex
	server *process // nil while it is stopped
	free   []string // databases that are empty, for the next tests
}

// startup is how long a server may take to accept connections, recovery included. It bounds a failure; nothing is measured with it.
const startup = 2 * time.Minute

// New starts a cluster for one test, on a free port of the loopback, and removes it when the test is over.
func New(t testing.TB, cfg Config) *Cluster {
	t.Helper()
	c, err := create(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.remove(); err != nil {
			t.Error(err)
		}
	})
	return c
}

// create makes a cluster in a temporary folder and starts it.
func create(cfg Config) (c *Cluster, err error) {
	bin, err := binaries()
	if err != nil {
		return nil, err
	}
	c = &Cluster{bin: bin, ours: true, owner: "stepwell"}
	if c.dir, err = folder("stepwell-postgres-"); err != nil {
		return nil, err
	}
	if c.guard, err = newGuard(c.dir); err != nil {
		return nil, errors.Join(err, os.RemoveAll(c.dir))
	}
	if cfg.Steps {
		if c.faker, err = faker(); err == nil {
			err = c.SetClock(0)
		}
		if err != nil {
			return nil, errors.Join(err, c.remove())
		}
	}
	password := randomText()
	if err := c.initdb(password); err != nil {
		return nil, errors.Join(err, c.remove())
	}
	c.settings = cfg.arguments()
	for try := 1; ; try++ { // between the choice of a port and its use somebody else may take it
		if c.port, err = freePort(); err == nil {
			c.admin = &url.URL{Scheme: "postgres", User: url.UserPassword("postgres", password), Host: fmt.Sprintf("127.0.0.1:%d", c.port), Path: "/postgres", RawQuery: "sslmode=disable"}
			err = c.Start()
		}
		if err == nil || try == 5 || !strings.Contains(err.Error(), "Address already in use") {
			break
		}
	}
	if err == nil {
		err = c.exec(context.Background(), fmt.Sprintf("create role %s login password '%s'", c.owner, password))
	}
	if err != nil {
		return nil, errors.Join(err, c.remove())
	}
	return c, nil
}

func (c *Config) arguments() []string {
	args := []string{
		"unix_socket_directories=", // the loopback is enough, and has no paths that are too long
		"listen_addresses=127.0.0.1",
		"max_connections=200",
		"log_line_prefix=%m [%p] %q%a ",
	}
	if c.NoSync {
		args = append(args, "fsync=off")
	}
	for name, value := range c.Settings {
		args = append(args, name+"="+value)
	}
	return args
}

// initdb makes the data folder. Its superuser is postgres, with a password: other users of the machine reach the loopback too.
func (c *Cluster) initdb(password string) error {
	file := filepath.Join(c.dir, "password")
	err := os.WriteFile(file, []byte(password+"\n"), 0o600)
	if err == nil {
		err = handOver(file)
	}
	if err != nil {
		return err
	}
	args := []string{"-D", c.data(), "-U", "postgres", "--pwfile=" + file, "--auth=password", "-E", "UTF8", "--locale=C", "--no-sync"}
	p, err := startProcess(c.guard, c.dir, "initdb.log", syscall.SIGKILL, filepath.Join(c.bin, "initdb"), args...)
	if err != nil {
		return err
	}
	if !p.gone(startup) {
		return errors.Join(fmt.Errorf("initdb did not end within %s", startup), p.end(syscall.SIGKILL, time.Minute))
	}
	if err := p.wait(); err != nil {
		return fmt.Errorf("initdb: %w\n%s", err, p.log())
	}
	return nil
}

func (c *Cluster) data() string { return filepath.Join(c.dir, "data") }

// Start starts a stopped server and waits until it accepts connections. Starting one that runs changes nothing.
func (c *Cluster) Start() error {
	if !c.ours {
		return ErrNotOurs
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.startLocked()
}

func (c *Cluster) startLocked() error {
	if c.server != nil {
		return nil
	}
	args := []string{"-D", c.data(), "-p", fmt.Sprint(c.port)}
	for _, s := range c.settings {
		args = append(args, "-c", s)
	}
	program, args := c.withClock(filepath.Join(c.bin, "postgres"), args)
	p, err := startProcess(c.guard, c.dir, "server.log", syscall.SIGQUIT, program, args...)
	if err != nil {
		return err
	}
	deadline := time.Now().Add(startup)
	for {
		err := c.ping()
		if err == nil {
			c.server = p
			return nil
		}
		if p.gone(10 * time.Millisecond) {
			return fmt.Errorf("the server ended: %w\n%s", errors.Join(p.wait(), err), p.log())
		}
		if time.Now().After(deadline) {
			return errors.Join(fmt.Errorf("the server does not accept connections after %s: %w\n%s", startup, err, p.log()), p.end(syscall.SIGQUIT, time.Minute))
		}
	}
}

// ping reports whether the server accepts connections: that of this cluster, and no stranger's on the same port.
func (c *Cluster) ping() error {
	ctx, stop := context.WithTimeout(context.Background(), startup)
	defer stop()
	conn, err := pgx.Connect(ctx, c.admin.String())
	if err != nil {
		return err
	}
	var data string
	err = conn.QueryRow(ctx, "show data_directory").Scan(&data)
	if err == nil && data != c.data() {
		err = fmt.Errorf("the server on port %d is another one, in %s: Address already in use", c.port, data)
	}
	return errors.Join(err, conn.Close(ctx))
}

// Stop stops the server and waits until all its processes are gone. Stopping one that is stopped changes nothing.
func (c *Cluster) Stop(m Mode) error {
	if !c.ours {
		return ErrNotOurs
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.stopLocked(m)
}

func (c *Cluster) stopLocked(m Mode) error {
	sig, ok := map[Mode]syscall.Signal{Fast: syscall.SIGINT, Immediate: syscall.SIGQUIT}[m]
	if !ok {
		return fmt.Errorf("unknown mode %q", m)
	}
	if c.server == nil {
		return nil
	}
	p := c.server
	c.server = nil
	if err := p.end(sig, time.Minute); err != nil {
		return fmt.Errorf("stop -m %s: %w\n%s", m, err, p.log())
	}
	return nil
}

// Restart stops the server and starts it again on the same port, with the same databases.
func (c *Cluster) Restart(m Mode) error {
	if !c.ours {
		return ErrNotOurs
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return errors.Join(c.stopLocked(m), c.startLocked())
}

// Log returns the end of the server's log, for failures that need it. A server that is not ours has none.
func (c *Cluster) Log() string {
	if !c.ours {
		return ""
	}
	return tail(filepath.Join(c.dir, "server.log"))
}

// Logged counts the lines of the server's log that contain a text, like "deadlock detected". A server that is not ours has none.
func (c *Cluster) Logged(text string) (n int, err error) {
	if !c.ours {
		return 0, nil
	}
	b, err := os.ReadFile(filepath.Join(c.dir, "server.log"))
	for line := range strings.Lines(string(b)) {
		if strings.Contains(line, text) {
			n++
		}
	}
	return n, err
}

// remove stops the server and deletes the cluster.
func (c *Cluster) remove() error {
	if !c.ours {
		return nil
	}
	return errors.Join(c.Stop(Immediate), c.guard.dismiss())
}

// tail is the last lines of a log.
func tail(path string) string {
	b, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	lines := slices.Collect(strings.Lines(string(b)))
	return strings.Join(lines[max(0, len(lines)-30):], "")
}
