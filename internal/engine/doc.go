// Package engine works on runs: it takes them from a world, evaluates their code on machines, runs their steps, and
// commits what
// comes of it. It is the only place where package replay and package world meet.
//
// Who does what:
//
//   - [Engine] is one worker. Its loops claim runs and tasks, send heartbeats, and sweep.
//   - A session owns one run while it moves: a machine, a mailbox, and the bodies of steps that run. It has one
//     goroutine; nobody else
//     touches its state. Everything that happens to it comes as a message.
//   - A body is one attempt of a step, on a goroutine of its own, in a step slot.
//   - A turn is what a session makes of the messages that are there: events, and one commit with them (more, if they
//     are large).
//
// An Engine and a session are made of parts, each with a file that opens with its invariant: a session of its
// mailbox, course, evaluation, steps, bodies, timers, turn, pen, slots and the like, an Engine of its holdings,
// clock, lease, pulse and the like. Nobody but the file of a part touches what it owns; package lint sees to that.
//
// Invariants, which the tests cite:
//
//  1. No body starts before the commit that holds its step_started has returned, nor after the lease has run out.
//  2. What a body returned is in the log, or the session was lost, or the body is reported as abandoned.
//  3. A session that is not terminal ends only with a release, or because its ownership was lost.
//  4. A waiting session holds no run slot, unless a body of it works; a body that waits for another run has yielded its
//     step slot. A hibernating
//     run holds no goroutine but in the bounded cache.
package engine
