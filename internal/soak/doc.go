// Package soak holds the ledger under fire: transfers between accounts run as workflows on several worker processes, while processes
// are killed and stopped, PostgreSQL is restarted as after a crash, and connections are cut, some of them between a COMMIT and its
// answer. What is left must be right to the cent.
//
// The same transfers through a server of either store, on remote workers that encrypt, under kill -9 of workers and server: there is no transaction to share, so
// money that moved again under its key counts once.
//
// Beside it, counters under fire: runs that continue as new after every second number, on a file and on PostgreSQL, while their workers are killed. Numbers are
// sent again, from clients and from steps, some do not fit, and each segment leaves a detached child. The oracle is addition. The same through remote workers that
// encrypt, whose server is killed as they are, on both stores.
//
// And messages: parcels are published and sent, some of them again, while those who handle them, the runs that they
// start and those that wait for them are killed and stopped, with the server and the connections of PostgreSQL, or with
// the server that they work through. Each comes to each subscriber in one message, starts one run, is sent on once,
// comes to the run that waits for it, and keeps its order; dead letters are those that have to be, and nothing is left.
//
// And a storm: workers are killed before they have lived for a second, so often that everybody belongs in quarantine; when it is over all runs go on.
//
// A database whose clock is set forward and back under worker processes: nobody waits for it, and nobody loses a lease.
//
// And processes that must not grow: workers on each world, and a server, whose heap and goroutines are counted after ten minutes (make soak; CI, at a walk beside all else) or a quarter of one (the
// suite).
//
// All of it is tests. A short run is part of the suite; make soak SOAK=10m burns longer. The seed that a run prints gives the same
// faults again, at about the same times; what they hit is up to the machine.
//
//	go test ./internal/soak -run UnderFire -soak.time=10m -soak.seed=42
package soak
