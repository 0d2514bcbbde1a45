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
// (see [Queue]) is given to the next worker that asks with [Queue.Claim].
//
// # What to implement
//
// [World] is four small interfaces: [Log], [Queue], [Streams], [Admin]. With them alone every run comes to its end.
//
// # Abilities
//
// What else a world can do are further small interfaces. It has those whose methods it has: nothing is to be registered.
// [AbilitiesOf] finds them, once, where a world is opened; nothing else looks for them. A world around another one gives
// them on by one method: see [Wrapper]. Each may be missing:
//
//   - [Notifier] tells of news at once. Notices may be lost and may repeat, and fn is not called under a lock that it
//     could need: [Listeners] is the half that is the same everywhere. Without it all who wait look again from time to
//     time: work starts up to 5 s late, followers hear of things up to 1 s late.
//   - [Poller] says how seldom it is enough to look beside notices. It must say 0, or be short, while notices may be
//     lost without anybody hearing of that. Without it looks are 5 s apart.
//   - [Timekeeper] knows the world's time without asking anybody. It must be that by which the world decides what is
//     due, or zero. Without it a worker reckons with its own clock and what the last heartbeat said, a server with its
//     own.
//   - [Transactor] makes changes part of a transaction with the application's own data. What is in a transaction
//     happens with its commit or never. Without it Transactional steps fail, and starts and sends with In are refused.
//   - [Reporter] tells operators of trouble with its storage which no call's answer tells: one line as it begins, one
//     as it ends. Without it they hear of failed calls alone.
//   - [TaskReader] shows queued steps while they are open. Its history is what will be in the log, attempt by attempt.
//     Without it the journal and why show an attempt of a queued step only when the step has ended.
//   - [ReadyReader] lists what could be claimed and claims nothing. It leaves out nothing but what the limit cuts.
//     Without it a server cannot push to endpoints.
//   - [Holder] tells a worker what it holds. No claim that was asked for before may come later. Without it a worker
//     that did not hear the answer to a claim gives up all that it holds, and claims it again.
//   - [Doctor] examines its storage for people, and changes nothing. Without it there is no stepwell doctor.
//   - [Mender] makes right what damage leaves and needs nobody's decision. It touches nothing that a live worker owns.
//     Without it there is no stepwell doctor --mend.
//   - [KeyBook] remembers which key the ID of an encryption key stands for. Who binds an ID first stands, at whatever
//     World on the storage. Without it another key under the same ID is refused only when a server starts, as far as
//     the newest runs show it.
//   - [Definer] keeps what the definitions of workflows say, which versions live workers have, and the most that ended
//     runs are kept. Without it a start by name has the defaults where the code is elsewhere, and the first claimer's
//     version; and each program keeps to its own limit alone.
//   - [MetricsKeeper] keeps what processes have counted. Without it the metrics of a server are of what it writes itself.
//   - [MessageKeeper] has queues of messages, which programs use with no run: see [Messenger]. Without it there are
//     none.
//   - [ScheduleKeeper] has schedules, by which runs start by themselves: see [Scheduler]. Without it there are none.
//   - [StartKeeper] keeps runs from beginning: see [Starter]. Without it no workflow can be held.
//   - [TopicKeeper] has topics, and subscriptions to what is published under them: see [Publisher]. It has queues too.
//     Without it there are none.
//   - [LimitKeeper] holds runs back where too many of a kind are at work: see [Limiter]. Without it a birth with
//     places is refused, and so is a definition with a limit.
//   - [ApartKeeper] keeps large values apart from logs. Without it a value is no larger than a log takes.
//   - [Decrypter] is the encryption that stands around a world. It gives on all else that the world can do. Without it
//     what is encrypted is told by the ID of its key; no store has it.
//
// # What a store need not decide
//
// What a store has to do that lies between runs is in package world/rules, as functions over facts that it has read: what a
// commit's conditions and an act come to, who is claimed next, what a page holds. How a commit becomes a row, and the
// checksums by which damage is found, are in package world/layout. Any store may use both; ours do.
//
// # What programs meet of it
//
// The API of package stepwell shows these types of world and below it, and none else.
//
//   - What they open, and the transactions that they share: [World], [Tx].
//   - What an operator ends that is nothing but time: [Waking], and what was ended: [Woken].
//   - A run as it is read: [Status], [Error], [Parent], [Origin], [Heir] (what is in its place), [QueueRow] (what the
//     queue knows of it), [Block], [Late]; its log, [Event] by [EventType].
//   - Its story, from package world/journal: journal.Journal, journal.AttemptError, journal.Aside.
//   - What a run gathers before it begins: [Gather].
//   - Where a run stands that waits for a place of a limit: [InLine]. What it keeps from others: [Place].
//   - What is listed beside runs: [HookRow], [WorkerRow]; the mark that closed a stream: [ChunkKind].
//   - What JSON a workflow takes and makes: [Schemas].
//   - What servers ask an App to check before it is written: [Commit], [Delivery].
//
// # How it is opened
//
// Whoever imports the package of a world calls what it has to open one. Command lines, and programs that know a URL
// alone, find it by the URL's scheme if it calls [Register] with a [Driver]. A driver that is a [Migrator] has stepwell
// migrate. What opens a world calls [MayOpen] first.
//
// Package worldtest holds any world to these rules; a world that passes it can replace any other.
//
// # Times
//
// Times are UTC and have microseconds, as [Now] gives them; none is after [MaxTime]. The world's clock decides what is due.
package world
