package pgtest

// This file starts pgbouncer, as the pooler between clients and a cluster.

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// Bouncer is a pgbouncer in transaction mode: a connection of a client has a server's connection only while a transaction is open, and
// another one for the next. Session locks, LISTEN and prepared statements do not work through it, and pg_backend_pid() is not the
// process ID that the client was told.
type Bouncer struct {
	host string
}

// Pooler starts a pgbouncer in front of a cluster; it ends with the test. At most 20 transactions a database run at once, for as many
// as 1,000 clients.
func Pooler(t testing.TB, c *Cluster) *Bouncer {
	t.Helper()
	b, stop, err := startBouncer(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
	return b
}

// URL returns the URL of the same database through the pooler.
func (b *Bouncer) URL(database string) string { return at(database, b.host) }

// bouncerConfig has the cluster's host and port, the pooler's own port, and the file of passwords. Nothing is set that makes life easier
// for clients: what works here works with a pooler out of the box.
const bouncerConfig = `[databases]
* = host=%s port=%s
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = %d
unix_socket_dir =
auth_type = plain
auth_file = %s
pool_mode = transaction
default_pool_size = 20
max_client_conn = 1000
log_connections = 0
log_disconnections = 0
`

func startBouncer(ctx context.Context, c *Cluster) (b *Bouncer, stop func() error, err error) {
	program, err := pgbouncer()
	if err != nil {
		return nil, nil, err
	}
	dir, err := folder("stepwell-pgbouncer-")
	if err != nil {
		return nil, nil, err
	}
	g, err := newGuard(dir)
	if err != nil {
		return nil, nil, errors.Join(err, os.RemoveAll(dir))
	}
	for try := 1; ; try++ {
		var p *process
		if b, p, err = tryBouncer(ctx, c, g, program, dir); err == nil {
			return b, func() error { return errors.Join(p.end(syscall.SIGKILL, time.Minute), g.dismiss()) }, nil
		}
		if try == 3 { // twice somebody else may have taken its port
			return nil, nil, errors.Join(err, g.dismiss())
		}
	}
}

// tryBouncer starts pgbouncer on a free port and waits until a client gets through to the cluster.
func tryBouncer(ctx context.Context, c *Cluster, g *guard, program, dir string) (*Bouncer, *process, error) {
	port, err := freePort()
	if err != nil {
		return nil, nil, err
	}
	config, users := filepath.Join(dir, "pgbouncer.ini"), filepath.Join(dir, "users.txt")
	password, _ := c.admin.User.Password()
	passwords := fmt.Sprintf("%q %q\n", c.admin.User.Username(), password)
	if c.owner != "" {
		passwords += fmt.Sprintf("%q %q\n", c.owner, password)
	}
	serverPort := c.admin.Port()
	if serverPort == "" {
		serverPort = "5432"
	}
	for path, text := range map[string]string{config: fmt.Sprintf(bouncerConfig, c.admin.Hostname(), serverPort, port, users), users: passwords} {
		if err := errors.Join(os.WriteFile(path, []byte(text), 0o600), handOver(path)); err != nil {
			return nil, nil, err
		}
	}
	p, err := startProcess(g, dir, "pgbouncer.log", syscall.SIGKILL, program, config)
	if err != nil {
		return nil, nil, err
	}
	b := &Bouncer{host: net.JoinHostPort("127.0.0.1", fmt.Sprint(port))}
	for deadline := time.Now().Add(startup); ; {
		err := pingThrough(ctx, b.URL(c.admin.String()))
		if err == nil {
			return b, p, nil
		}
		if p.gone(10 * time.Millisecond) {
			return nil, nil, fmt.Errorf("pgbouncer ended: %w\n%s", errors.Join(p.wait(), err), p.log())
		}
		if time.Now().After(deadline) {
			return nil, nil, errors.Join(fmt.Errorf("no way through pgbouncer after %s: %w\n%s", startup, err, p.log()), p.end(syscall.SIGKILL, time.Minute))
		}
	}
}

// pingThrough needs no prepared statement.
func pingThrough(ctx context.Context, database string) error {
	u, err := url.Parse(database)
	if err != nil {
		return err
	}
	q := u.Query()
	q.Set("default_query_exec_mode", "simple_protocol")
	u.RawQuery = q.Encode()
	conn, err := pgx.Connect(ctx, u.String())
	if err != nil {
		return err
	}
	var one int
	err = conn.QueryRow(ctx, "select 1").Scan(&one)
	return errors.Join(err, conn.Close(ctx))
}
