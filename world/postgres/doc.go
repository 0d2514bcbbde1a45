// Package postgres is the store for many machines: one schema of a PostgreSQL database, version 14
// or later.
//
// Any number of processes share it, workers and clients. Commits of a process that arrive during a
// transaction share the next one: see [World.Commit]. The store works through a connection pooler:
// notifications, advisory locks and prepared statements make it faster, but are not needed.
//
// # Locks
//
// A transaction locks queue rows in the order of their runs, then writes log rows in order, then
// the rest. Last it locks its worker's row in lanes, which fails the transaction if the worker was
// found dead. Senders lock nothing of a run: they insert into its inbox. What may have to wait for
// another process's transaction (a chosen run ID, an idempotency key, a chosen token, the end of
// another run) has a transaction of its own.
package postgres
