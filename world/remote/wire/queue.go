package wire

// This file has what workers ask for and are told.

import (
	"time"

	"github.com/stepwell/stepwell/world"
)

// Worker is a [world.Worker].
type Worker struct {
	ID      string        `json:"id"`
	Name    string        `json:"name,omitempty"`
	Build   string        `json:"build,omitempty"`
	Classes []world.Class `json:"classes,omitempty"`
	Steps   []string      `json:"steps,omitempty"`
	LeaseMs int64         `json:"leaseMs,omitempty"` // 0: the world's default, 10 s
	Remote  bool          `json:"remote,omitempty"`  // told, not asked for: who joins here is

	Definitions  []world.Definition `json:"definitions,omitempty"`
	MaxRetention time.Duration      `json:"maxRetention,omitempty"` // in ns
	StepLimits   []world.SaidLimit  `json:"stepLimits,omitempty"`
}

// OfWorker makes a message of a worker. A part of a millisecond of its lease counts as a whole one.
func OfWorker(in *world.Worker) Worker {
	lease := int64((in.Lease + time.Millisecond - 1) / time.Millisecond)
	if in.Lease < 0 {
		lease = -1
	}
	return Worker{ID: in.ID, Name: in.Name, Build: in.Build, Classes: in.Classes, Steps: in.Steps, LeaseMs: lease, Remote: in.Remote,
		Definitions: in.Definitions, MaxRetention: in.MaxRetention, StepLimits: in.StepLimits}
}

// World is the worker of a message.
func (w *Worker) World() world.Worker {
	return world.Worker{
		ID: w.ID, Name: w.Name, Build: w.Build, Classes: w.Classes, Steps: w.Steps, Lease: time.Duration(w.LeaseMs) * time.Millisecond, Remote: w.Remote,
		Definitions: w.Definitions, MaxRetention: w.MaxRetention, StepLimits: w.StepLimits,
	}
}

// TakeQuery is a [world.ClaimQuery].
type TakeQuery struct {
	Worker  string        `json:"worker"`
	Classes []world.Class `json:"classes,omitempty"`
	Runs    int           `json:"runs,omitempty"`
	Steps   []string      `json:"steps,omitempty"`
	Tasks   int           `json:"tasks,omitempty"`
	Run     string        `json:"run,omitempty"`
	Step    string        `json:"step,omitempty"`

	WaitMs int64 `json:"waitMs,omitempty"` // how long to wait until there is something; 30 s at most

	// N is the number of this claim among those of the worker, from 1, one after the other. The server remembers the answer to the last one: the same
	// number with Again is answered with it. 0: it is not remembered.
	N      int64  `json:"n,omitempty"`
	Again  bool   `json:"again,omitempty"`
	Server string `json:"server,omitempty"` // with Again: the [Beat].Server of the worker's last join or heartbeat before the first try
}

// World is the query of a message.
func (q *TakeQuery) World() world.ClaimQuery {
	return world.ClaimQuery{Worker: q.Worker, Classes: q.Classes, Runs: q.Runs, Steps: q.Steps, Tasks: q.Tasks, Run: q.Run, Step: q.Step, Number: q.N}
}

// Taken is a [world.Claimed].
type Taken struct {
	Answer
	Now   time.Time  `json:"now"`
	Runs  []TakenRun `json:"runs,omitempty"`
	Tasks []Task     `json:"tasks,omitempty"`
	Next  time.Time  `json:"next,omitzero"`
	More  bool       `json:"more,omitempty"`
}

// TakenRun is a [world.ClaimedRun].
type TakenRun struct {
	Run      string       `json:"run"`
	Claim    int64        `json:"take"`
	Class    world.Class  `json:"class"`
	Status   world.Status `json:"status"`
	Priority int          `json:"priority"`
	Seq      int64        `json:"seq"`
	Segment  int64        `json:"segment,omitempty"`
	Paused   bool         `json:"paused,omitempty"`
	Blocked  *world.Block `json:"blocked,omitempty"`
	Mail     []Mail       `json:"mail,omitempty"`
	Log      []Event      `json:"log,omitempty"`
	Strikes  int          `json:"strikes,omitempty"`
	Damage   string       `json:"damage,omitempty"`
}

// Whole reports whether it has what each has.
func (t *Taken) Whole() bool { return !t.Now.IsZero() }

// OfClaimed makes a message of what a worker was given.
func OfClaimed(in *world.Claimed) Taken {
	return Taken{Now: in.Now, Next: in.Next, More: in.More, Tasks: list(in.Tasks, OfTask), Runs: list(in.Runs, func(r *world.ClaimedRun) TakenRun {
		return TakenRun{r.Run, r.Claim, r.Class, r.Status, r.Priority, r.Seq, r.Segment, r.Paused, r.Blocked, OfMail(r.Mail), OfEvents(r.Log), r.Strikes, r.Damage}
	})}
}

// World is what a worker was given.
func (t *Taken) World() world.Claimed {
	return world.Claimed{Now: t.Now, Next: t.Next, More: t.More, Tasks: list(t.Tasks, (*Task).World), Runs: list(t.Runs, func(r *TakenRun) world.ClaimedRun {
		return world.ClaimedRun{
			Run: r.Run, Claim: r.Claim, Class: r.Class, Status: r.Status, Priority: r.Priority, Seq: r.Seq, Segment: r.Segment, Paused: r.Paused,
			Blocked: r.Blocked, Mail: WorldMail(r.Mail), Log: WorldEvents(r.Log), Strikes: r.Strikes, Damage: r.Damage,
		}
	})}
}

// BeatQuery is a [world.HeartbeatQuery].
type BeatQuery struct {
	Worker string    `json:"worker"`
	Tasks  []TaskKey `json:"tasks,omitempty"`
	Again  bool      `json:"again,omitempty"` // the answer to the last heartbeat was lost: the runs that it told of as lost are told again
}

// Beat is a [world.Heartbeat].
type Beat struct {
	Answer
	Now   time.Time `json:"now"`
	Until time.Time `json:"until"`
	Mail  []Mail    `json:"mail,omitempty"`
	Ended []TaskKey `json:"ended,omitempty"`
	Lost  []string  `json:"lost,omitempty"`

	Server string   `json:"server"`          // which process of the server answered
	Owned  *Account `json:"owned,omitempty"` // what the worker owns by the server's account
}

// Account is a [world.Account].
type Account struct {
	Runs  []world.OwnedRun `json:"runs,omitempty"`
	Tasks []TaskKey        `json:"tasks,omitempty"`
}

// OfAccount makes a message of an account.
func OfAccount(in *world.Account) Account { return Account{in.Runs, OfKeys(in.Tasks)} }

// World is the account.
func (a *Account) World() world.Account {
	return world.Account{Runs: a.Runs, Tasks: WorldKeys(a.Tasks)}
}

// Whole reports whether it has what each has.
func (b *Beat) Whole() bool { return !b.Now.IsZero() && !b.Until.IsZero() }

// OfHeartbeat makes a message of what a heartbeat told.
func OfHeartbeat(in *world.Heartbeat) Beat {
	out := Beat{Now: in.Now, Until: in.Until, Mail: OfMail(in.Mail), Ended: OfKeys(in.Ended), Lost: in.Lost}
	if in.Account != nil {
		owned := OfAccount(in.Account)
		out.Owned = &owned
	}
	return out
}

// World is what a heartbeat told.
func (b *Beat) World() world.Heartbeat {
	out := world.Heartbeat{Now: b.Now, Until: b.Until, Mail: WorldMail(b.Mail), Ended: WorldKeys(b.Ended), Lost: b.Lost}
	if b.Owned != nil {
		owned := b.Owned.World()
		out.Account = &owned
	}
	return out
}

// WorkerID names a worker that leaves.
type WorkerID struct {
	Worker string `json:"worker"`
}

// Accepted is the answer to one that leaves.
type Accepted struct {
	Answer
	Accepted bool `json:"accepted"`
}

// Whole reports whether it has what each has.
func (a *Accepted) Whole() bool { return a.Accepted }

// HeldQuery asks what a worker holds.
type HeldQuery struct {
	Worker string `json:"worker"`
	N      int64  `json:"n"` // a number as that of a claim: those with a lower one are over, or come too late
}

// Held is what a worker owns, behind a claim whose answer was lost.
type Held struct {
	Answer
	Account
}

// ReadyQuery is a [world.ReadyQuery].
type ReadyQuery struct {
	Classes []world.Class `json:"classes,omitempty"`
	Steps   []string      `json:"steps,omitempty"`
	Limit   int           `json:"limit,omitempty"`
}

// Ready is a [world.Ready].
type Ready struct {
	Answer
	Now   time.Time   `json:"now"`
	Items []ReadyItem `json:"items,omitempty"`
	More  bool        `json:"more,omitempty"`
	Next  time.Time   `json:"next,omitzero"`
}

// ReadyItem is a [world.ReadyItem].
type ReadyItem struct {
	Run      string      `json:"run"`
	Class    world.Class `json:"class,omitzero"`
	Step     string      `json:"step,omitempty"`
	StepName string      `json:"stepName,omitempty"`
	Priority int         `json:"priority"`
	Due      time.Time   `json:"due"`
}

// Whole reports whether it has what each has.
func (r *Ready) Whole() bool { return !r.Now.IsZero() }

// OfReady makes a message of a list.
func OfReady(in *world.Ready) Ready {
	items := list(in.Items, func(i *world.ReadyItem) ReadyItem { return ReadyItem(*i) })
	return Ready{Now: in.Now, Items: items, More: in.More, Next: in.Next}
}

// World is the list of a message.
func (r *Ready) World() world.Ready {
	return world.Ready{Now: r.Now, Items: list(r.Items, func(i *ReadyItem) world.ReadyItem { return world.ReadyItem(*i) }), More: r.More, Next: r.Next}
}
