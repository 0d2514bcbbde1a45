// Package postgres is the world for many machines: one schema of a PostgreSQL database, versions 14 and later.
//
// Any number of processes share it, workers and clients. Commits of a process that arrive while a transaction is being written share the next one; see
// [World.Commit]. Nothing rests on notifications, advisory locks or prepared statements, so that a pooler may stand in between; where none does,
// they make it quicker.
//
// # Who locks what
//
// A transaction locks queue rows in the order of their runs, then writes log rows in order, then the rest, and last of all it locks its worker's row
// in lanes, which fails it when the worker was found dead. Senders lock nothing of a run: they insert into its inbox. What may have to wait for
// a stranger's transaction (a chosen run ID, an idempotency key, a chosen token, the end of another run) has a transaction of its own.
package postgres
