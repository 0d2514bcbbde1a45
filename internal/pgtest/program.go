package pgtest

// This file is for programs that are no tests: bench starts a server of its own too, and asks what a test does not need to know.

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

// Start starts a cluster that lives until [Cluster.Close]. Tests use [New] or [Shared].
func Start(cfg Config) (*Cluster, error) { return create(cfg) }

// Close stops the server and deletes the cluster. One that is not ours is left as it is.
func (c *Cluster) Close() error { return c.remove() }

// Environment returns the variables that lend this cluster to the tests of another process: they use it as if each had
// one of its own, but for what only the process that started it can do (Stop, Restart, Log).
func (c *Cluster) Environment() []string {
	return []string{Server + "=" + c.admin.String(), owner + "=" + c.owner}
}

// Create makes a fresh, empty database whose name tells what it is for, and returns its URL. [Cluster.URL] is the same for a test.
func (c *Cluster) Create(ctx context.Context, what string) (database string, err error) {
	name := databaseName(what)
	return c.ownerURL(name), c.create(ctx, name)
}

func (c *Cluster) create(ctx context.Context, name string) error {
	sql := "create database " + name
	if c.owner != "" {
		sql += " owner " + c.owner
	}
	if err := c.Exec(ctx, sql); err != nil {
		return fmt.Errorf("make a database on %s: %w\n%s", c.admin.Host, err, c.Log())
	}
	return nil
}

// Drop drops a database of [Cluster.Create], with force: connections that are still open end.
func (c *Cluster) Drop(ctx context.Context, database string) error {
	u, err := url.Parse(database)
	if err != nil {
		return errors.New("drop a database: not a URL") // the error of url.Parse repeats it, password and all
	}
	name := strings.TrimPrefix(u.Path, "/")
	if err := c.Exec(ctx, "drop database if exists "+name+" with (force)"); err != nil {
		return fmt.Errorf("drop the database %s: %w", name, err)
	}
	return nil
}

// Exec executes one statement as the admin, on a connection of its own.
func (c *Cluster) Exec(ctx context.Context, sql string) error { return c.exec(ctx, sql) }

// PID is the process ID of the server that runs: its other processes are that one's children. A server that is not ours has none here.
func (c *Cluster) PID() (int, error) {
	if !c.ours {
		return 0, ErrNotOurs
	}
	b, err := os.ReadFile(filepath.Join(c.data(), "postmaster.pid"))
	if err != nil {
		return 0, err
	}
	first, _, _ := strings.Cut(string(b), "\n")
	return strconv.Atoi(first)
}

// Program is the path of one of PostgreSQL's client programs, like pgbench: the server's version of it, else the one in PATH.
func (c *Cluster) Program(name string) (string, error) {
	if c.bin != "" {
		bin, err := filepath.EvalSymlinks(filepath.Join(c.bin, "postgres")) // what is in PATH may be a link to where all of them are
		if err == nil && has(filepath.Dir(bin), name) {
			return filepath.Join(filepath.Dir(bin), name), nil
		}
	}
	path, err := exec.LookPath(name)
	if err != nil {
		return "", fmt.Errorf("%s is not installed: %w", name, err)
	}
	return path, nil
}
