// Package pgtest gives tests a PostgreSQL server: a throwaway cluster of their own, a pooler in front of it, and a proxy that does to
// its connections what networks do.
//
//	func TestMain(m *testing.M) { pgtest.Main(m, pgtest.Config{NoSync: true}) }
//
//	func TestSomething(t *testing.T) {
//		url := pgtest.URL(t) // a fresh, empty database, dropped when the test is over
//		…
//	}
//
// # The server
//
// One cluster serves a test binary; it starts with the first database that is asked for. Tests that stop and restart the server have
// one of their own: see [New]. PostgreSQL's programs are looked for in PATH, then where Debian, Red Hat, Homebrew and Postgres.app put
// them, newest first. Where there are none the test fails and says what to install; nothing is skipped.
//
// PostgreSQL refuses to run as root. Where the tests run as root the server runs as the user postgres, or nobody.
//
// internal/tools/withpostgres runs a command, such as all tests, beside one cluster that its test binaries share.
//
// STEPWELL_TEST_POSTGRES, a URL, names another server for [URL] and [Shared]; its user must be allowed to create databases. That
// server cannot be stopped here: [Cluster.Stop] and its like are errors. [New] starts a cluster of its own all the same.
//
// # When the test binary dies
//
// Each server and pooler has a guard: a small shell process in a session of its own that reads a pipe whose other end the test binary
// holds. When the binary is gone, however it went (its end, a timeout's panic, os.Exit, SIGKILL), the kernel closes the pipe; the guard
// then stops the server at once and removes its folder. Pdeathsig would be less: it is Linux's alone, is tied to a thread of the
// parent and not to the process, and removes no folder. Should the guard be killed too, the server still ends within a minute of
// somebody's removing its folder: PostgreSQL looks for its lock file.
//
// # fsync
//
// It is on unless [Config].NoSync says otherwise, so that benchmarks measure what users get. Off, it is harmless for every test here,
// those that restart the server with [Immediate] or kill it included: what a process has written is in the kernel's cache and survives
// that process; only a crash of the machine loses it, and no test crashes that.
package pgtest
