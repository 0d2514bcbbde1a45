// Package world defines the interfaces of a Stepwell store.
//
// A world is a store. It keeps the logs of runs, their inboxes, the queue of runs and tasks to work
// on, and streams. Each thing that happens to a run is an [Event] in the run's log. All other facts
// about a run derive from its events by one pure function, [State.Apply]. All parts of Stepwell use
// it; no store writes it again.
//
// Three words of this package need an explanation. A birth is the commit that creates a run. Mail
// is a delivery in a run's inbox. An act is mail from an operator: a pause, a resume, a cancel.
//
// # Who writes what
//
// A run's log has one writer: the worker that owns the run. It appends with [Log.Commit], one
// atomic change: events, mail taken from the inbox, tasks, births of children, and the release of
// the run, all or nothing. All others send mail with [Log.Deliver], and the owner appends it. If
// nobody owns a run and it is runnable (see [Queue]), the next worker that calls [Queue.Claim] gets
// it.
//
// # What to implement
//
// [World] is small interfaces: [Log], [Queue], [Streams], [Admin], [Notifier], [KeyBook],
// [Definer], [MetricsKeeper], and six groups: [Messenger], [Publisher], [Scheduler], [Starter],
// [Limiter], [Values]. A new store embeds [Unimplemented], and replaces its methods one by one. A
// store that wraps another embeds it, and replaces what it changes; [Intercept] makes all calls go
// through one function.
//
// # Abilities
//
// Further small interfaces are optional: [World.Abilities] returns them, and nothing else looks for
// them.
//
//   - [Poller] says how seldom polling besides notices is enough. It must say 0, or a short time,
//     while notices may be lost unnoticed. Without it, polls are 5 s apart.
//   - [Timekeeper] tells the store's time without a request. It must be the time by which the store
//     decides what is due, or zero. Without it, a worker uses its own clock and the last heartbeat,
//     and a server its own clock.
//   - [Transactor] makes changes part of a transaction with the application's own data. They happen
//     with its commit or never. Without it, Transactional steps fail, and starts and sends with In
//     are refused.
//   - [Reporter] tells operators of storage trouble that no call returns: one line when it begins,
//     one when it ends. Without it, they see only failed calls.
//   - [Doctor] examines the storage for people, and changes nothing. Without it, stepwell doctor
//     does nothing.
//   - [Mender] repairs damage that needs no decision. It changes nothing that a live worker owns.
//     Without it, stepwell doctor --mend does nothing.
//   - [Decrypter] is the encryption around a store. Without it, encrypted data is shown only as the
//     ID of its key. No store implements it.
//
// # What a store need not decide
//
// Package world/rules has the decisions between runs, as functions over facts that the store has
// read: the results of a commit's conditions and of an act, the next claim, the content of a page.
// Package world/layout has how a commit becomes a row, and the checksums that find damage. Any
// store may use both; ours do.
//
// # What programs meet of it
//
// The API of package stepwell shows these types of world and its subpackages, and no others:
//
//   - Stores, and shared transactions: [World], [Tx].
//   - Which waits for time an operator ends: [Waking], and which were ended: [Woken].
//   - A run as it is read: [Status], [Error], [Parent], [Origin], [Heir] (its replacement),
//     [QueueRow] (its row in the queue), [Block], [Late]; its log, [Event] by [EventType].
//   - Its story, from package world/journal: journal.Journal, journal.AttemptError, journal.Aside.
//   - Merged starts: [Gather].
//   - The line of a limit: [InLine], and the places that a run holds: [Place].
//   - Lists besides runs: [HookRow], [WorkerRow]; the mark that closed a stream: [ChunkKind].
//   - JSON that a workflow takes and makes: [Schemas].
//   - What servers ask an App to check before it is written: [Commit], [Delivery].
//
// # Opening a store
//
// A store's package has functions of its own to open one. Command lines, and programs that have
// only a URL, find a store by the URL's scheme if its package calls [Register] with a [Driver]. If
// the driver is a [Migrator], stepwell migrate works. Functions that open a store call [MayOpen]
// first.
//
// Package worldtest tests a store against these rules. A store that passes can replace any other.
//
// # Times
//
// Times are UTC in microseconds, as [Now] returns them, and at most [MaxTime]. The store's clock
// decides what is due.
package world
