package pgtest

// This file makes databases, and looks at who is connected to them.

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
)

// URL makes a fresh, empty database and returns its URL. It is gone when the test is over: connections that the test left open end. Its owner, whom the URL logs in as, is no superuser: what passes here needs none.
func (c *Cluster) URL(t testing.TB) string {
	t.Helper()
	name := databaseName(t.Name())
	database := c.ownerURL(name)
	if !c.reused(t.Context(), name) {
		if err := c.create(t.Context(), name); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() {
		if !c.running() {
			return // it goes with the cluster
		}
		if err := c.release(context.Background(), database); err != nil {
			t.Errorf("%v\n%s", err, c.Log())
		}
	})
	return database
}

// ownerURL is the URL of a database for the role that owns it.
func (c *Cluster) ownerURL(name string) string {
	u := *c.admin
	u.Path = "/" + name
	if password, ok := u.User.Password(); ok && c.owner != "" {
		u.User = url.UserPassword(c.owner, password)
	}
	return u.String()
}

// AdminURL is the URL of the same database for the role that made it: a superuser, on a cluster of ours. It is for looking at what
// owners cannot see, and for settings that are theirs.
func (c *Cluster) AdminURL(database string) string {
	u, err := url.Parse(database)
	if err != nil {
		return database
	}
	u.User = c.admin.User
	return u.String()
}

// Connections counts the connections of clients to the database of a URL.
func (c *Cluster) Connections(ctx context.Context, database string) (n int, err error) {
	u, err := url.Parse(database)
	if err != nil {
		return 0, err
	}
	err = c.with(ctx, func(conn *pgx.Conn) error {
		return conn.QueryRow(ctx, "select count(*) from pg_stat_activity where datname = $1 and backend_type = 'client backend'", strings.TrimPrefix(u.Path, "/")).Scan(&n)
	})
	return n, err
}

func (c *Cluster) running() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return !c.ours || c.server != nil
}

// exec executes one statement as the admin, on a connection of its own.
func (c *Cluster) exec(ctx context.Context, sql string) error {
	return c.with(ctx, func(conn *pgx.Conn) error {
		_, err := conn.Exec(ctx, sql)
		return err
	})
}

func (c *Cluster) with(ctx context.Context, do func(*pgx.Conn) error) error {
	conn, err := pgx.Connect(ctx, c.admin.String())
	if err != nil {
		return err
	}
	err = do(conn)
	return errors.Join(err, conn.Close(context.WithoutCancel(ctx)))
}

var strange = regexp.MustCompile(`[^a-z0-9]+`)

// databaseName is a name that tells which test made it.
func databaseName(test string) string {
	test = strings.Trim(strange.ReplaceAllString(strings.ToLower(test), "_"), "_")
	return "sw_" + test[:min(len(test), 40)] + "_" + randomText()[:8]
}

// at returns a URL with another host and port.
func at(database, host string) string {
	u, err := url.Parse(database)
	if err != nil {
		return database
	}
	u.Host = host
	return u.String()
}

func listen(port int) (net.Listener, error) {
	return net.Listen("tcp4", fmt.Sprintf("127.0.0.1:%d", port))
}

func randomUint32() uint32 {
	var b [4]byte
	_, _ = rand.Read(b[:]) // it never fails
	return binary.BigEndian.Uint32(b[:])
}

// randomText is 26 characters that nobody guesses, small letters and digits.
func randomText() string { return strings.ToLower(rand.Text()) }
