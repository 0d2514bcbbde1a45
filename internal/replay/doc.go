// Package replay evaluates workflow code deterministically against a run's log.
//
// A [Machine] is fed the events of one segment of a log, in order. Result events (what happened) drive it: each is delivered, then
// the coroutines of the workflow run in a fixed order until all are blocked. What the code asks for meanwhile (steps, waits, hooks) is
// collected as [Op]s; creation events in the log are held against them. So the same function does both jobs: the engine feeds a
// recorded log to rebuild a machine, and goes on feeding what happens now.
//
// The law: a machine's state is a function of the segment's start and the ordered list of its result events, of the seed and of the patch
// records, and of nothing else. There is no I/O, no clock and no goroutine of its own here.
//
// How a turn goes:
//
//  1. A result is delivered: the future that waits for it is resolved, which puts the coroutines that wait for it in the ready queue.
//  2. Ready coroutines run, first come first served, each until it blocks or ends; coroutines that they spawn queue up behind.
//  3. When none is ready, those that wait for a condition look at it, in the order in which they began to wait; as soon as one goes on,
//     step 2 is taken again.
//  4. When nothing moves, the turn is over.
//
// A Machine is used by one goroutine at a time. Only the detection of foreign goroutines (user code that calls its Context on a
// goroutine of its own) is safe from anywhere.
package replay
