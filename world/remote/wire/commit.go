package wire

// This file has what is written to logs and inboxes.

import (
	"time"

	"github.com/stepwell/stepwell/world"
)

// Commit is a [world.Commit].
type Commit struct {
	ID         CommitID      `json:"id"`
	Run        string        `json:"run"`
	Worker     string        `json:"worker,omitempty"`
	Claim      int64         `json:"take,omitempty"`
	Build      string        `json:"build,omitempty"`
	First      int64         `json:"first"`
	Events     []Event       `json:"events,omitempty"`
	Mail       []int64       `json:"mail,omitempty"`
	Tasks      []Task        `json:"tasks,omitempty"`
	Held       []TaskKey     `json:"held,omitempty"`
	Dropped    []TaskKey     `json:"dropped,omitempty"`
	Births     []*Commit     `json:"births,omitempty"`
	Send       []Delivery    `json:"send,omitempty"`
	Conditions []Condition   `json:"conditions,omitempty"`
	Anew       []Anew        `json:"anew,omitempty"`
	Streams    []StreamWrite `json:"streams,omitempty"`
	Messages   []Message     `json:"messages,omitempty"`
	Published  []Publication `json:"published,omitempty"`
	Release    *Release      `json:"release,omitempty"`
	Ack        string        `json:"ack,omitempty"`
	Prints     [][]byte      `json:"prints,omitempty"`
	Schedule   *Schedule     `json:"schedule,omitempty"`
	Items      int           `json:"items,omitempty"`

	// Again says that it was sent before and the answer was lost: if it was written then, this is answered as that was.
	Again bool `json:"again,omitempty"`
}

// OfCommit makes a message of a commit. They share memory.
func OfCommit(in *world.Commit) *Commit {
	if in == nil {
		return nil
	}
	c := &Commit{
		ID: in.ID, Run: in.Run, Worker: in.Worker, Claim: in.Claim, Build: in.Build, First: in.First, Events: OfEvents(in.Events), Ack: in.Ack, Schedule: OfSchedule(in.Schedule),
		Mail: in.Mail, Tasks: list(in.Tasks, OfTask), Held: list(in.Held, ofKey), Dropped: list(in.Dropped, ofKey),
		Send: list(in.Send, func(d *world.Delivery) Delivery { return *OfDelivery(d) }), Streams: list(in.Streams, ofWrite),
		Messages:   OfMessages(in.Messages),
		Published:  OfPublications(in.Published),
		Births:     list(in.Births, func(b **world.Commit) *Commit { return OfCommit(*b) }),
		Conditions: list(in.Conditions, func(c *world.Condition) Condition { return Condition(*c) }),
		Anew:       list(in.Anew, func(a *world.Anew) Anew { return Anew(*a) }),
		Prints:     in.Prints,
		Items:      in.Items,
	}
	if in.Release != nil {
		r := Release(*in.Release)
		c.Release = &r
	}
	return c
}

// World is the commit of a message. They share memory.
func (c *Commit) World() *world.Commit {
	if c == nil {
		return nil
	}
	out := &world.Commit{
		ID: c.ID, Run: c.Run, Worker: c.Worker, Claim: c.Claim, Build: c.Build, First: c.First, Events: WorldEvents(c.Events), Ack: c.Ack, Schedule: c.Schedule.World(),
		Mail: c.Mail, Tasks: list(c.Tasks, (*Task).World), Held: list(c.Held, (*TaskKey).world), Dropped: list(c.Dropped, (*TaskKey).world),
		Send: list(c.Send, func(d *Delivery) world.Delivery { return *d.World() }), Streams: list(c.Streams, (*StreamWrite).world),
		Messages:   WorldMessages(c.Messages),
		Published:  WorldPublications(c.Published),
		Births:     list(c.Births, func(b **Commit) *world.Commit { return (*b).World() }),
		Conditions: list(c.Conditions, func(c *Condition) world.Condition { return world.Condition(*c) }),
		Anew:       list(c.Anew, func(a *Anew) world.Anew { return world.Anew(*a) }),
		Prints:     c.Prints,
		Items:      c.Items,
	}
	if c.Release != nil {
		r := world.Release(*c.Release)
		out.Release = &r
	}
	return out
}

// Release is a [world.Release].
type Release struct {
	WakeAt  time.Time    `json:"wakeAt,omitzero"`
	Blocked *world.Block `json:"blocked,omitempty"`
	Full    bool         `json:"full,omitempty"`
	Waiting string       `json:"waiting,omitempty"`
}

// Condition is a [world.Condition].
type Condition struct {
	Event int `json:"event"`
	Birth int `json:"birth,omitempty"`
	Send  int `json:"send,omitempty"`
}

// Anew is a [world.Anew].
type Anew struct {
	Step string    `json:"step"`
	Run  string    `json:"run"`
	At   time.Time `json:"at"`
}

// Committed is a [world.Committed].
type Committed struct {
	Answer
	Events   []Event `json:"events,omitempty"`
	Existing string  `json:"existing,omitempty"`
	Mail     bool    `json:"mail,omitempty"`

	Gathering bool `json:"gathering,omitempty"`
}

// OfCommitted makes a message of what became of a commit.
func OfCommitted(in world.Committed) Committed {
	return Committed{Events: OfEvents(in.Events), Existing: in.Existing, Mail: in.Mail, Gathering: in.Gathering}
}

// World is what became of a commit.
func (c *Committed) World() world.Committed {
	return world.Committed{Events: WorldEvents(c.Events), Existing: c.Existing, Mail: c.Mail, Gathering: c.Gathering}
}

// Task is a [world.Task].
type Task struct {
	Run       string    `json:"run,omitempty"`
	Step      string    `json:"step"`
	Name      string    `json:"name"`
	Workflow  string    `json:"workflow,omitempty"`
	Input     Bytes     `json:"input,omitzero"`
	Encrypted string    `json:"sealed,omitempty"`
	Options   Bytes     `json:"options,omitzero"`
	Priority  int       `json:"priority"`
	Visible   time.Time `json:"visible,omitzero"`
	Worker    string    `json:"worker,omitempty"`
	Attempt   int       `json:"attempt,omitempty"`
	History   []Event   `json:"history,omitempty"`
	First     time.Time `json:"first,omitzero"`
	Failures  int       `json:"failures,omitempty"`
	Abandoned int       `json:"abandoned,omitempty"`
	Damage    string    `json:"damage,omitempty"`

	Places []world.Place `json:"places,omitempty"`
}

// OfTask makes a message of a task.
func OfTask(t *world.Task) Task {
	return Task{
		Run: t.Run, Step: t.Step, Name: t.Name, Workflow: t.Workflow, Input: t.Input, Encrypted: t.Encrypted, Options: t.Options, Priority: t.Priority,
		Visible: t.Visible,
		Worker:  t.Worker, Attempt: t.Attempt, History: OfEvents(t.History), First: t.First, Failures: t.Failures, Abandoned: t.Abandoned, Damage: t.Damage,
		Places: t.Places,
	}
}

// World is the task of a message.
func (t *Task) World() world.Task {
	return world.Task{
		Run: t.Run, Step: t.Step, Name: t.Name, Workflow: t.Workflow, Input: t.Input, Encrypted: t.Encrypted, Options: t.Options, Priority: t.Priority,
		Visible: t.Visible,
		Worker:  t.Worker, Attempt: t.Attempt, History: WorldEvents(t.History), First: t.First, Failures: t.Failures, Abandoned: t.Abandoned, Damage: t.Damage,
		Places: t.Places,
	}
}

// TaskKey is a [world.TaskKey].
type TaskKey struct {
	Run     string `json:"run"`
	Step    string `json:"step"`
	Attempt int    `json:"attempt"`
}

func ofKey(k *world.TaskKey) TaskKey    { return TaskKey(*k) }
func (k *TaskKey) world() world.TaskKey { return world.TaskKey(*k) }

// OfKeys makes messages of the keys of tasks.
func OfKeys(in []world.TaskKey) []TaskKey { return list(in, ofKey) }

// WorldKeys are the keys of messages.
func WorldKeys(in []TaskKey) []world.TaskKey { return list(in, (*TaskKey).world) }

// Delivery is a [world.Delivery].
type Delivery struct {
	Run     string    `json:"run,omitempty"`
	Token   string    `json:"token,omitempty"`
	ID      string    `json:"id,omitempty"`
	Events  []Event   `json:"events,omitempty"`
	Act     bool      `json:"act,omitempty"`
	Task    *TaskKey  `json:"task,omitempty"`
	Worker  string    `json:"worker,omitempty"`
	RetryAt time.Time `json:"retryAt,omitzero"`
	Sender  string    `json:"sender,omitempty"`
	Of      string    `json:"of,omitempty"`
	Print   []byte    `json:"print,omitempty"`
	Repeat  bool      `json:"repeat,omitempty"`
	Items   int       `json:"items,omitempty"`
}

// OfDelivery makes a message of a delivery. They share memory.
func OfDelivery(in *world.Delivery) *Delivery {
	d := &Delivery{Run: in.Run, Token: in.Token, ID: in.ID, Events: OfEvents(in.Events), Act: in.Act, Worker: in.Worker, RetryAt: in.RetryAt, Sender: in.Sender, Of: in.Of, Print: in.Print, Repeat: in.Repeat, Items: in.Items}
	if in.Task != nil {
		k := TaskKey(*in.Task)
		d.Task = &k
	}
	return d
}

// World is the delivery of a message. They share memory.
func (d *Delivery) World() *world.Delivery {
	out := &world.Delivery{Run: d.Run, Token: d.Token, ID: d.ID, Events: WorldEvents(d.Events), Act: d.Act, Worker: d.Worker, RetryAt: d.RetryAt, Sender: d.Sender, Of: d.Of, Print: d.Print, Repeat: d.Repeat, Items: d.Items}
	if d.Task != nil {
		k := world.TaskKey(*d.Task)
		out.Task = &k
	}
	return out
}

// Delivered is a [world.Delivered].
type Delivered struct {
	Answer
	Run       string `json:"run"`
	Duplicate bool   `json:"duplicate,omitempty"`
	Late      bool   `json:"late,omitempty"`
	Owner     string `json:"owner,omitempty"`
}

// Whole reports whether it has what each has.
func (d *Delivered) Whole() bool { return d.Run != "" }

// OfDelivered makes a message of what became of a delivery.
func OfDelivered(in world.Delivered) Delivered {
	return Delivered{Run: in.Run, Duplicate: in.Duplicate, Late: in.Late, Owner: in.Owner}
}

// World is what became of a delivery.
func (d *Delivered) World() world.Delivered {
	return world.Delivered{Run: d.Run, Duplicate: d.Duplicate, Late: d.Late, Owner: d.Owner}
}

// Mail is a [world.Mail].
type Mail struct {
	Row       int64     `json:"row"`
	Run       string    `json:"run"`
	ID        string    `json:"id,omitempty"`
	ArrivedAt time.Time `json:"arrivedAt"`
	Events    []Event   `json:"events,omitempty"`
	Damage    string    `json:"damage,omitempty"`
}

// OfMail makes messages of mail.
func OfMail(in []world.Mail) []Mail {
	return list(in, func(m *world.Mail) Mail { return Mail{m.Row, m.Run, m.ID, m.ArrivedAt, OfEvents(m.Events), m.Damage} })
}

// WorldMail is the mail of messages.
func WorldMail(in []Mail) []world.Mail {
	return list(in, func(m *Mail) world.Mail {
		return world.Mail{Row: m.Row, Run: m.Run, ID: m.ID, ArrivedAt: m.ArrivedAt, Events: WorldEvents(m.Events), Damage: m.Damage}
	})
}
