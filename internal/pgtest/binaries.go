package pgtest

// This file finds PostgreSQL's programs and pgbouncer.

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
)

// folders are where systems put the programs of PostgreSQL, one folder a version.
var folders = []string{
	"/usr/lib/postgresql/*/bin",     // Debian
	"/usr/pgsql-*/bin",              // Red Hat, from PostgreSQL's own packages
	"/usr/libexec/postgresql*",      // Alpine
	"/opt/homebrew/opt/postgresql*", // Homebrew; their bin is looked for below
	"/usr/local/opt/postgresql*",
	"/Applications/Postgres.app/Contents/Versions/*/bin",
	"/usr/local/pgsql/bin", // from source
}

// poolers are where pgbouncer is, other than in PATH.
var poolers = []string{"/usr/sbin", "/opt/homebrew/bin", "/usr/local/bin"}

// binaries returns the folder that holds initdb and postgres: the one in PATH, else the newest there is.
func binaries() (string, error) {
	if initdb, err := exec.LookPath("initdb"); err == nil {
		if dir := filepath.Dir(initdb); has(dir, "postgres") {
			return dir, nil
		}
	}
	for _, pattern := range folders {
		found, err := filepath.Glob(pattern)
		if err != nil {
			return "", err
		}
		slices.SortFunc(found, func(a, b string) int { return cmp.Or(cmp.Compare(version(b), version(a)), cmp.Compare(a, b)) })
		for _, dir := range found {
			for _, dir := range []string{dir, filepath.Join(dir, "bin")} {
				if has(dir, "initdb") && has(dir, "postgres") {
					return dir, nil
				}
			}
		}
	}
	return "", errors.New("no PostgreSQL here: neither in PATH nor in the usual folders. Install it (Debian: make test as root does, or " +
		"apt-get install postgresql; macOS: brew install postgresql@17), or set STEPWELL_TEST_POSTGRES to the URL of a server where databases may be created")
}

// pgbouncer returns the path of the pooler.
func pgbouncer() (string, error) {
	if path, err := exec.LookPath("pgbouncer"); err == nil {
		return path, nil
	}
	for _, dir := range poolers {
		if has(dir, "pgbouncer") {
			return filepath.Join(dir, "pgbouncer"), nil
		}
	}
	return "", errors.New("no pgbouncer here: install it (Debian: make test as root does, or apt-get install pgbouncer; macOS: brew install pgbouncer)")
}

func has(dir, program string) bool {
	info, err := os.Stat(filepath.Join(dir, program))
	return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
}

var number = regexp.MustCompile(`\d+(\.\d+)?`)

// version is the last number in a folder's path: 9.6 is older than 15. Without one it is 0.
func version(dir string) float64 {
	all := number.FindAllString(dir, -1)
	if len(all) == 0 {
		return 0
	}
	v, err := strconv.ParseFloat(all[len(all)-1], 64)
	if err != nil {
		return 0
	}
	return v
}

// freePort returns a port of the loopback that nobody listens on. It is none that the kernel gives to outgoing connections: a client that
// tries again and again while the server is down would sooner or later get its own port as the server's, and talk to itself.
func freePort() (int, error) {
	for range 200 {
		port := 12000 + int(randomUint32()%18000)
		l, err := listen(port)
		if err != nil {
			continue
		}
		return port, l.Close()
	}
	return 0, fmt.Errorf("no free port found on the loopback")
}
