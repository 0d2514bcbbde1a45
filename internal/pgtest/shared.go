package pgtest

// This file holds the cluster that all tests of a binary share.

import (
	"flag"
	"fmt"
	"net/url"
	"os"
	"sync"
	"testing"

	"go.uber.org/goleak"
)

// Server is the environment variable that names a server to use instead of a cluster of ours.
const Server = "STEPWELL_TEST_POSTGRES"

// owner is the environment variable that names the role which owns the databases of a server that [Cluster.Environment]
// lends. Its password is that of the URL in [Server].
const owner = "STEPWELL_TEST_POSTGRES_OWNER"

// shared is the cluster of this binary, once somebody asked for it.
var shared struct {
	sync.Mutex
	cfg     Config
	cluster *Cluster
	err     error
	over    bool
}

// sideBySide is how many tests run at once, unless -parallel says so: some wait while others work. More of them run into
// their deadlines on two cores.
const sideBySide = "8"

// Main runs the tests of a package, stops the cluster that they shared, looks for goroutines that they left, and ends the process. It is
// for TestMain. A package without it gets its cluster too; then the guard stops it when the process has ended.
func Main(m interface{ Run() int }, cfg Config) {
	shared.cfg = cfg
	flag.Parse()
	if given := flag.Lookup("test.parallel"); given != nil && given.Value.String() == given.DefValue {
		_ = flag.Set("test.parallel", sideBySide) // they wait for the server and for leases: two at once, on two cores, would wait for ever
	}
	code := m.Run()
	if err := release(); err != nil {
		fmt.Fprintln(os.Stderr, "pgtest:", err)
		code = max(code, 1)
	}
	if code == 0 {
		if err := goleak.Find(); err != nil {
			fmt.Fprintln(os.Stderr, "pgtest: tests left goroutines:", err)
			code = 1
		}
	}
	os.Exit(code)
}

// Shared returns the cluster that all tests of this binary share, and starts it if need be. It is not to be stopped by one test.
func Shared(t testing.TB) *Cluster {
	t.Helper()
	shared.Lock()
	defer shared.Unlock()
	switch {
	case shared.over:
		t.Fatal("the tests are over, and so is their cluster")
	case shared.cluster == nil && shared.err == nil:
		shared.cluster, shared.err = open(shared.cfg)
	}
	if shared.err != nil {
		t.Fatal(shared.err) // for each test that needs it: none is skipped
	}
	return shared.cluster
}

// URL makes a fresh, empty database on the shared cluster: see [Cluster.URL].
func URL(t testing.TB) string {
	t.Helper()
	return Shared(t).URL(t)
}

// open takes the server that the environment names, or makes one.
func open(cfg Config) (*Cluster, error) {
	named := os.Getenv(Server)
	if named == "" {
		return create(cfg)
	}
	u, err := url.Parse(named)
	if err != nil || u.Scheme != "postgres" && u.Scheme != "postgresql" || u.Host == "" {
		return nil, fmt.Errorf("%s is %q: want a URL like postgres://user:password@host:5432/postgres", Server, named)
	}
	c := &Cluster{admin: u, owner: os.Getenv(owner)}
	if c.owner != "" {
		c.bin, err = binaries()
	}
	return c, err
}

func release() error {
	shared.Lock()
	defer shared.Unlock()
	shared.over = true
	if shared.cluster == nil {
		return nil
	}
	return shared.cluster.remove()
}
