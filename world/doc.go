// Package world says what a backend of Stepwell is.
//
// A world keeps the logs of runs, their inboxes, the queue that says which run or task may be worked on, and streams.
// Everything that happened to a run is an [Event] in the run's log; everything else about a run is derived from its
// events by one pure fold, [State.Apply], which every part of Stepwell uses and no world writes a second time.
//
// # Who writes what
//
// A run's log has one writer: the worker that owns the run. It appends with [Log.Commit], whose argument is one atomic
// change: events, mail taken from the inbox, tasks, births of children, and the release of the run, all or nothing.
// Everybody else sends mail with [Log.Deliver]; the owner appends it. A run that nobody owns and that is runnable
// (see [Queue]) is given to the next worker that asks with [Queue.Take].
//
// # What to implement
//
// [World] is four small interfaces: [Log], [Queue], [Streams], [Admin]. Optional abilities are further interfaces that the engine looks for by type
// assertion, once, when it starts:
//
//   - [Notifier]: the world tells of new work at once; without it the engine polls.
//   - [Transactor]: changes can be part of a transaction with the application's own data.
//   - [Timekeeper]: its time is known without asking.
//   - [Poller]: its notices are reliable, so that the engine need poll but rarely.
//   - [Reporter]: it tells operators of trouble with its storage.
//   - [TaskReader]: it shows the attempts of queued steps before they are in the log.
//
// Package worldtest holds any world to these rules; a world that passes it can replace any other.
//
// # Times
//
// Times are UTC and have microseconds, as [Now] gives them; none is after [MaxTime]. The world's clock decides what is due.
package world
