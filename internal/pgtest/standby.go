package pgtest

// This file makes a standby of a cluster, and has the two change places.

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"testing"
)

// Standby starts a standby of a cluster of ours, which follows it, and removes it when the test is over. Its databases and roles are the cluster's. The cluster is
// stopped meanwhile: its files are copied, as not all builds of PostgreSQL come with pg_basebackup.
func (c *Cluster) Standby(t testing.TB) *Cluster {
	t.Helper()
	s, err := c.standby()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.remove(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func (c *Cluster) standby() (s *Cluster, err error) {
	if !c.ours {
		return nil, ErrNotOurs
	}
	s = &Cluster{bin: c.bin, ours: true, owner: c.owner, settings: c.settings}
	if s.dir, err = folder("stepwell-standby-"); err != nil {
		return nil, err
	}
	if s.guard, err = newGuard(s.dir); err != nil {
		return nil, errors.Join(err, os.RemoveAll(s.dir))
	}
	err = c.Stop(Fast)
	if err == nil {
		err = s.copyOf(c)
	}
	if err = errors.Join(err, c.Start()); err != nil {
		return nil, errors.Join(err, s.remove())
	}
	if s.port, err = freePort(); err == nil {
		u := *c.admin
		u.Host = fmt.Sprintf("127.0.0.1:%d", s.port)
		s.admin = &u
		err = s.Start()
	}
	if err != nil {
		return nil, errors.Join(err, s.remove())
	}
	return s, nil
}

// copyOf makes the files of a standby from those of a cluster that is stopped.
func (c *Cluster) copyOf(primary *Cluster) error {
	if err := os.CopyFS(c.data(), os.DirFS(primary.data())); err != nil {
		return err
	}
	password, _ := primary.admin.User.Password()
	follow := fmt.Sprintf("\nprimary_conninfo = 'host=127.0.0.1 port=%d user=postgres password=%s'\n", primary.port, password)
	auto, err := os.OpenFile(filepath.Join(c.data(), "postgresql.auto.conf"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = auto.WriteString(follow)
	if err = errors.Join(err, auto.Close(), os.WriteFile(filepath.Join(c.data(), "standby.signal"), nil, 0o600)); err != nil {
		return err
	}
	return filepath.WalkDir(c.data(), func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		mode := fs.FileMode(0o600)
		if d.IsDir() {
			mode = 0o700
		}
		return errors.Join(os.Chmod(path, mode), handOver(path))
	})
}

// Promote makes a standby a server of its own, and returns when it takes writes.
func (c *Cluster) Promote() error {
	return c.exec(context.Background(), "select pg_promote(true, 60)")
}

// Demote restarts a cluster as one that takes no writes: a standby of nobody.
func (c *Cluster) Demote() error {
	if err := c.Stop(Fast); err != nil {
		return err
	}
	file := filepath.Join(c.data(), "standby.signal")
	if err := errors.Join(os.WriteFile(file, nil, 0o600), handOver(file)); err != nil {
		return err
	}
	return c.Start()
}

// Hosts is the URL of a database on several servers, in this order.
func Hosts(database string, more ...*Cluster) string {
	u, err := url.Parse(database)
	if err != nil {
		return database
	}
	for _, c := range more {
		u.Host += "," + c.admin.Host
	}
	return u.String()
}
