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
// [World] is four small interfaces: [Log], [Queue], [Streams], [Admin]. They are enough for every
// run to reach its end.
//
// # Abilities
//
// Further small interfaces are optional. A store has those whose methods it has; nothing is
// registered. [AbilitiesOf] finds them when a store is opened, and nothing else looks for them. A
// store that wraps another passes them on by one method: see [Wrapper].
//
//   - [Notifier] announces changes at once. Notices may be lost or repeated, and fn is not called
//     under a lock that it could need. [Listeners] implements the common half. Without it, waiting
//     programs poll: work starts up to 5 s late, and followers see changes up to 1 s late.
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
//   - [TaskReader] shows queued steps while they are open. Its history is what the log will
//     contain, attempt by attempt. Without it, the journal and why show an attempt of a queued step
//     only after the step has ended.
//   - [ReadyReader] lists what could be claimed, without claiming it. It omits only what the limit
//     cuts. Without it, a server cannot push to endpoints.
//   - [Holder] tells a worker what it holds. No earlier claim may take effect later. Without it, a
//     worker that lost the answer to a claim gives up all its work, and claims it again.
//   - [Doctor] examines the storage for people, and changes nothing. Without it, stepwell doctor
//     does nothing.
//   - [Mender] repairs damage that needs no decision. It changes nothing that a live worker owns.
//     Without it, stepwell doctor --mend does nothing.
//   - [KeyBook] records which key the ID of an encryption key stands for. The first binding of an
//     ID stays, for every World on the storage. Without it, another key under the same ID is
//     refused only when a server starts, and only if the newest runs show it.
//   - [Definer] keeps the definitions of workflows, the versions that live workers have, and the
//     longest retention. Without it, a start by name whose code is elsewhere gets the defaults and
//     the first claimer's version, and each program keeps to its own retention limit.
//   - [MetricsKeeper] keeps the counts of processes. Without it, a server's metrics count only what
//     the server writes.
//   - [MessageKeeper] has queues of messages, which need no runs: see [Messenger]. Without it,
//     there are none.
//   - [ScheduleKeeper] has schedules, which start runs by time: see [Scheduler]. Without it, there
//     are none.
//   - [StartKeeper] can keep runs from beginning: see [Starter]. Without it, no workflow can be
//     held.
//   - [TopicKeeper] has topics and subscriptions: see [Publisher]. It has queues too. Without it,
//     there are none.
//   - [LimitKeeper] limits how many runs of a kind work at once: see [Limiter]. Without it, births
//     with places are refused, and so are definitions with a limit.
//   - [ApartKeeper] stores large values apart from logs. Without it, a value must fit a log.
//   - [Decrypter] is the encryption around a store, and passes on the store's other abilities.
//     Without it, encrypted data is shown only as the ID of its key. No store implements it.
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
