package wire

// This file is the table of the methods of World that a client may call: one row each.

import (
	"reflect"

	"github.com/stepwell/stepwell/world"
)

// Row is a method of World as the wire has it.
type Row struct {
	Name  string // Name follows Prefix in its path.
	Does  string // Does says what it does.
	Scope string // Scope is the least scope of a key that may call it.
	Guard Guard  // Guard says what of it a limited key may call.
	Lost  Lost   // Lost says what a client does if the answer is lost.

	// Acts means that it changes something. A call that comes twice under one name is done once, and
	// is not cut off if its client goes.
	Acts bool
	// Wide means that the answer may be large: the server counts it before it makes it.
	Wide bool
	// MaxBody is the most bytes of a body.
	MaxBody int64

	In, Out reflect.Type
}

// Bounds of bodies. A commit may have 4 MiB of payloads, which base64 makes a third more. The start
// of a fork may have many times that.
const (
	MaxBody       = 8 << 20
	MaxCommitBody = 64 << 20
)

// Guard says what of a method a key may call that is limited to some workflows and steps.
type Guard string

// Guards.
const (
	Refused     Guard = "none"      // none: it is about what all workflows share
	OfRun       Guard = "run"       // a run of its workflows
	OfValue     Guard = "value"     // a value of such a run, or of a task that it holds
	OfKept      Guard = "kept"      // as OfValue; the run need not exist yet
	OfWorker    Guard = "worker"    // a worker that joined with it; this holds for every key
	OfWorkflows Guard = "workflows" // its workflows
	OfClasses   Guard = "classes"   // its workflows and steps
	Own         Guard = "own"       // what the server picks out of the message or the answer
)

// Lost says what a client does if the answer to a call is lost.
type Lost string

// What a client does.
const (
	Ask   Lost = "ask"   // it reports [world.ErrUnknownOutcome]: the caller asks what became of it
	Twice Lost = "twice" // it calls again
	Long  Lost = "long"  // it calls again, but later: the server may work long
	Once  Lost = "once"  // it waits longer, and then reports [world.ErrUnknownOutcome]
	ByID  Lost = "id"    // Twice if all that is sent has delivery IDs, otherwise Once
	Again Lost = "again" // it asks for the answer that was lost
)

// Method is a row with its types.
type Method[In, Out any] struct{ *Row }

var rows []*Row

// Rows returns all rows, in order.
func Rows() []*Row { return rows }

// read makes the row of a method that changes nothing.
func read[In, Out any](name, scope string, guard Guard, lost Lost, does string) Method[In, Out] {
	r := &Row{Name: name, Does: does, Scope: scope, Guard: guard, Lost: lost, MaxBody: MaxBody,
		In: reflect.TypeFor[In](), Out: reflect.TypeFor[Out]()}
	rows = append(rows, r)
	return Method[In, Out]{r}
}

// act makes the row of a method that changes something.
func act[In, Out any](name, scope string, guard Guard, lost Lost, does string) Method[In, Out] {
	m := read[In, Out](name, scope, guard, lost, does)
	m.Acts = true
	return m
}

func (m Method[In, Out]) wide() Method[In, Out] {
	m.Wide = true
	return m
}

func (m Method[In, Out]) large() Method[In, Out] {
	m.MaxBody = MaxCommitBody
	return m
}

const viewer, operator, worker = "viewer", "operator", "worker"

// The log and inboxes of runs.
var (
	Commit = act[CommitIn, world.Committed]("commit", operator, Own, Ask,
		"Make one atomic change to one run").large()
	Outcome = read[CommitIn, world.Committed]("outcome", operator, Own, Twice,
		"Tell whether a commit whose answer was lost was written").large()
	Deliver = act[world.Delivery, world.Delivered]("deliver", operator, Own, ByID,
		"Send to a run's inbox, or end an attempt of a task")
	Events = read[EventsIn, world.EventPage]("events", viewer, OfRun, Twice,
		"Read a run's log from a cursor").wide()
)

// Workers, and what they are given.
var (
	Join = act[world.Worker, HeartbeatOut]("join", worker, OfClasses, Again,
		"Join as a worker: register, and get a lease")
	Claim = act[ClaimIn, world.Claimed]("claim", worker, Own, Again,
		"Claim runs and tasks that are due, or wait until there are some")
	Heartbeat = act[HeartbeatIn, HeartbeatOut]("heartbeat", worker, OfWorker, Again,
		"Renew a worker's lease, and get the news for what it owns")
	Held = act[HeldIn, world.Account]("held", worker, OfWorker, Twice,
		"List what a worker holds, after a claim whose answer was lost")
	Leave = act[WorkerID, Nothing]("leave", worker, OfWorker, Twice,
		"End a worker's lease, and hand back what it holds")
)

// Streams of runs.
var (
	Append = act[world.Append, world.Appended]("append", worker, Own, Ask,
		"Add chunks to a stream")
	Chunks = read[ChunksIn, world.ChunkPage]("chunks", viewer, OfRun, Twice,
		"Read a stream from a number").wide()
	Streams = read[RunID, []world.StreamRow]("streams", viewer, OfRun, Twice,
		"List the streams of a run")
)

// What operators and clients read, and housekeeping.
var (
	Run = read[RunID, world.Run]("run", viewer, OfRun, Twice,
		"Read a run's row")
	Runs = read[world.RunQuery, world.RunPage]("runs", viewer, Own, Long,
		"List runs, newest first").wide()
	Hooks = read[world.HookQuery, []world.HookRow]("hooks", operator, Own, Twice,
		"List active hooks").wide()
	Tasks = read[RunID, []world.Task]("tasks", viewer, OfRun, Twice,
		"List the queued steps of a run")
	Ready = read[world.ReadyQuery, world.Ready]("ready", viewer, OfClasses, Twice,
		"List what a worker could claim")
	Stats = read[Nothing, world.Stats]("stats", viewer, Own, Long,
		"Count runs and workers")
	Sweep = act[SweepIn, int]("sweep", worker, Own, Once,
		"Delete ended runs whose retention is over")
	Examine = read[Nothing, []world.Finding]("examine", operator, Refused, Long,
		"Examine the database")
	BindKey = act[KeyIn, KeyOut]("bindKey", operator, Own, Twice,
		"Say which encryption key an ID stands for, or bind it")
)

// What code declares, and what processes have counted.
var (
	Define = act[DefineIn, Nothing]("define", worker, Own, Twice,
		"Note what the definitions of workflows say")
	Defined = read[DefinedIn, world.Defined]("defined", viewer, OfWorkflows, Twice,
		"Tell what definitions of workflows say, and which versions live workers have")
	Schemas = read[SchemasIn, SchemasOut]("schemas", viewer, OfWorkflows, Twice,
		"Tell what JSON a version of a workflow takes and makes")
	LimitRetention = act[RetentionIn, RetentionOut]("limitRetention", viewer, Own, Twice,
		"Tell how long ended runs are kept at most, lower it, or raise it")
	KeepMetrics = act[world.ProcessMetrics, Nothing]("keepMetrics", worker, Own, Twice,
		"Keep what a process has counted")
	Metrics = read[Nothing, []world.ProcessMetrics]("metrics", worker, Own, Twice,
		"Tell what all processes have counted")
)

// Values that are kept apart from logs.
var (
	KeepPiece = act[world.Piece, Nothing]("keepPiece", operator, OfKept, Twice,
		"Keep a piece of a large value apart from the log of a run")
	Piece = read[PieceIn, []byte]("piece", viewer, OfValue, Twice,
		"Read a piece of a value that is kept apart")
	DropValue = act[ValueIn, Nothing]("dropValue", operator, OfKept, Twice,
		"Delete a value that was kept apart for a commit that is not made")
	ValueKeys = read[Nothing, []world.ValueKey]("valueKeys", viewer, Refused, Twice,
		"Tell which keys values that are kept apart are encrypted with")
)

// Queues of messages.
var (
	DeclareQueue = act[world.MessageQueue, Nothing]("declareQueue", operator, Refused, Twice,
		"Create a queue, or change its settings")
	PauseQueue = act[PauseIn, Nothing]("pauseQueue", operator, Refused, Twice,
		"Stop receives from a queue, or resume them")
	DropQueue = act[QueueName, Nothing]("dropQueue", operator, Refused, Once,
		"Delete an empty queue")
	Queues = read[Names, []world.QueueStats]("queues", viewer, Refused, Long,
		"Tell of queues")
	SendMessages = act[SendIn, []world.Sent]("sendMessages", operator, Refused, ByID,
		"Put messages into queues")
	ReceiveMessages = act[world.ReceiveQuery, world.Received](
		"receiveMessages", operator, Refused, Twice, "Receive messages that are ready")
	SettleMessages = act[SettleIn, []bool]("settleMessages", operator, Refused, ByID,
		"End or extend receives")
	PeekMessages = read[world.PeekQuery, world.MessagePage]("peekMessages", viewer, Refused, Long,
		"Look at the messages of a queue")
	PurgeMessages = act[PurgeIn, MovedOut]("purgeMessages", operator, Refused, Once,
		"Delete messages of a queue")
	RedriveMessages = act[RedriveIn, MovedOut]("redriveMessages", operator, Refused, Once,
		"Make dead letters messages again")
)

// Topics.
var (
	Publish = act[PublishIn, []world.Sent]("publish", operator, Refused, ByID,
		"Publish under topics")
	Spread = act[world.Spread, bool]("spread", operator, Refused, Twice,
		"Change a subscription, or write what was decided of publications that are due")
	Subscriptions = read[Names, []world.Subscription]("subscriptions", viewer, Refused, Long,
		"Tell of subscriptions")
	Due = read[world.DueQuery, world.Due]("due", viewer, Refused, Long,
		"Tell which publications are due, and for which subscriptions")
	ListPublications = read[world.PublicationQuery, world.PublicationPage](
		"publications", viewer, Refused, Long, "Tell of publications")
	Shapes = read[Nothing, []string]("shapes", viewer, Refused, Long,
		"List the shapes of waits that receive publications")
	Listeners = read[world.ListenerQuery, []world.Listener]("listeners", viewer, Refused, Long,
		"List waits that receive publications")
)

// Schedules, holds and limits.
var (
	Schedules = read[world.ScheduleQuery, []world.Schedule]("schedules", viewer, Refused, Long,
		"Tell of schedules")
	DueSchedules = read[DueSchedulesIn, world.DueSchedules]("dueSchedules", worker, Refused, Long,
		"Tell which schedules are due")
	PutSchedule = act[world.Schedule, bool]("putSchedule", operator, Refused, Twice,
		"Write a schedule, if it has not changed since it was read")
	DeleteSchedule = act[ScheduleName, Nothing]("deleteSchedule", operator, Refused, Once,
		"Delete a schedule")
	Hold = act[world.Hold, Nothing]("hold", operator, Refused, Long,
		"Hold a workflow, so that none of its runs begins")
	Release = act[WorkflowName, Nothing]("release", operator, Refused, Long,
		"Have the runs of a workflow that is held begin again")
	Holds = read[Nothing, []world.Hold]("holds", viewer, Own, Twice,
		"Tell which workflows are held")
	ListLimits = read[Nothing, []world.Limit]("listLimits", viewer, Refused, Twice,
		"Tell of limits")
	SetLimit = act[SetLimitIn, Nothing]("setLimit", operator, Refused, Twice,
		"Change the number of a limit")
	ListLimitKeys = read[LimitKeysIn, []world.LimitKey]("listLimitKeys", viewer, Refused, Twice,
		"Tell of keys of a limit")
	ListHolders = read[HoldersIn, []world.LimitHolder]("listHolders", viewer, Refused, Twice,
		"Tell what holds places of a key of a limit")
	InLine = read[InLineIn, InLineOut]("inLine", viewer, Refused, Twice,
		"Tell where a run, or a task of it, waits in line")
)
