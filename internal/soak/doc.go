// Package soak holds the ledger under fire: transfers between accounts run as workflows on several worker processes, while processes
// are killed and stopped, PostgreSQL is restarted as after a crash, and connections are cut, some of them between a COMMIT and its
// answer. What is left must be right to the cent.
//
// All of it is tests. A short run is part of the suite; make soak SOAK=10m burns longer. The seed that a run prints gives the same
// faults again, at about the same times; what they hit is up to the machine.
//
//	go test ./internal/soak -run TestLedgerUnderFire -soak.time=10m -soak.seed=42
package soak
