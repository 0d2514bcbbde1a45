// Package journal shows people what happened in a run. A journal is a projection of the run's
// events, for the API, the command line and the web UI. It does not check the events:
// [world.State.Apply] does.
package journal

import (
	"bytes"
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/stepwell/stepwell/world"
)

// Journal is the story of one run so far: the run, its steps, waits and hooks in order of creation,
// and the signals that no wait took. Feed it the run's events with Add, in order, page by page. You
// may read its fields at any time between. It is not safe for concurrent use.
type Journal struct {
	Run         string          `json:"run"`
	Workflow    string          `json:"workflow"`
	Version     int             `json:"version"`
	Status      world.Status    `json:"status"`
	CreatedAt   time.Time       `json:"createdAt,omitzero"`
	StartedAt   time.Time       `json:"startedAt,omitzero"`
	CompletedAt time.Time       `json:"completedAt,omitzero"` // when it ended, in any way
	Input       json.RawMessage `json:"input,omitempty"`      // of the newest segment
	Output      json.RawMessage `json:"output,omitempty"`
	// see [world.Apart]; "": Input is the value
	InputApart  string        `json:"inputApart,omitempty"`
	OutputApart string        `json:"outputApart,omitempty"` // the same for the output
	Error       *world.Error  `json:"error,omitempty"`
	Parent      *world.Parent `json:"parent,omitempty"`
	Origin      *world.Origin `json:"origin,omitempty"` // of a fork
	// Cancel: the first request or forced cancel; nil: none.
	Cancel  *Act `json:"cancel,omitempty"`
	Paused  *Act `json:"paused,omitempty"` // the current pause; nil: none
	Segment int  `json:"segment"`          // number of run_continued events
	// Trimmed: number of the run_continued after a gap, if segments were trimmed.
	Trimmed int64    `json:"trimmed,omitempty"`
	Seq     int64    `json:"seq"`              // number of the last event fed
	Commits int      `json:"commits"`          // number of commits with these events
	Builds  []string `json:"builds,omitempty"` // builds that wrote them, in order of appearance
	Entries []*Entry `json:"steps"`
	Unread  []Unread `json:"unread,omitempty"` // signals that no wait took, in order
	// NotCreated: of each segment that ended so, the newest last: see [world.Event.NotCreated].
	NotCreated []string `json:"notCreated,omitempty"`
	// Aside are the last 100 payloads that were set aside because they do not fit the code, in the
	// order of these decisions.
	Aside []Aside `json:"aside,omitempty"`

	payloads bool
	gathers  gathering
	gap      bool              // a number was missing in this segment
	commit   int64             // the last that was counted
	open     map[string]*Entry // what may still change, by ID
	mail     map[int64]letter  // published for a wait that is open, which alone may take it, by number
}

// gathering is what a run gathers; as is nil: nothing.
type gathering struct {
	as     *world.Gather
	starts int
}

// Gathered returns how many starts are merged into a run that gathers, with its own; 0 for other
// runs.
func (j *Journal) Gathered() int {
	if j.gathers.as == nil {
		return 0
	}
	return j.gathers.starts
}

// Act is what an operator did to a run.
type Act struct {
	By     string    `json:"by,omitempty"`
	Reason string    `json:"reason,omitempty"`
	At     time.Time `json:"at"`
}

// EntryStatus is the status of a step, wait or hook.
type EntryStatus string

// Statuses of entries.
const (
	EntryPending    EntryStatus = "pending"
	EntryRunning    EntryStatus = "running"
	EntryCompleted  EntryStatus = "completed"
	EntryFailed     EntryStatus = "failed"
	EntryWaiting    EntryStatus = "waiting"    // a wait
	EntryActive     EntryStatus = "active"     // a hook
	EntryDisposed   EntryStatus = "disposed"   // a hook
	EntryConflicted EntryStatus = "conflicted" // a hook whose token the run Peer holds
	// EntryDropped: a step or wait that was open when its run or segment ended.
	EntryDropped EntryStatus = "dropped"
)

// Entry is one step, wait or hook.
type Entry struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	// Class: for people: run (any step), sleep, wait (for an event or condition), hook.
	Class       string          `json:"kind"`
	Kind        world.Kind      `json:"type"`                 // the exact kind
	Occurrence  int             `json:"occurrence,omitempty"` // of the name in its coroutine, from 0
	Path        string          `json:"path,omitempty"`       // the coroutine
	Segment     int             `json:"segment,omitempty"`
	Seq         int64           `json:"seq"` // number of the event that created it
	Status      EntryStatus     `json:"status"`
	Attempt     int             `json:"attempt,omitempty"` // starts of a step so far
	CreatedAt   time.Time       `json:"createdAt"`
	StartedAt   time.Time       `json:"startedAt,omitzero"` // a step's first start; a wait starts when it is created
	AttemptAt   time.Time       `json:"attemptAt,omitzero"` // a step's last start
	CompletedAt time.Time       `json:"completedAt,omitzero"`
	RetryAt     time.Time       `json:"retryAt,omitzero"` // earliest next start of a step
	Until       time.Time       `json:"until,omitzero"`   // a wait's deadline
	Match       json.RawMessage `json:"match,omitempty"`  // of an event wait
	// Listens: an event wait that also receives publications.
	Listens     bool            `json:"listens,omitempty"`
	Outcome     world.Outcome   `json:"outcome,omitempty"`     // of a wait that ended
	Received    int             `json:"received,omitempty"`    // number of payloads that a hook got
	OutputApart string          `json:"outputApart,omitempty"` // see [world.Apart]; "": Output is the value
	Output      json.RawMessage `json:"output,omitempty"`      // a step's result, or the payload that ended a wait
	// Progress: last reported progress of an open step; [Journal].Add does not set it.
	Progress *world.Progress `json:"progress,omitempty"`
	Error    *world.Error    `json:"error,omitempty"`   // of a failed step, or of the last attempt
	Earlier  []AttemptError  `json:"earlier,omitempty"` // errors of earlier attempts, the last ones
	// Past: number of the last attempt of which nothing is kept.
	Past  int    `json:"-"`
	Peer  string `json:"peer,omitempty"`  // ID of the other run
	By    string `json:"by,omitempty"`    // the worker of a remote step's last attempt
	Token string `json:"token,omitempty"` // of a hook

	ends
	hook attendance // of a hook, and of a wait for its heartbeats
}

// ends are of an entry.
type ends struct {
	ended    int64     // number of the event that ended it; 0: it is open
	failedAt time.Time // when the attempt ended that Error is of
}

// Undo reports whether the entry is a step that undoes another one.
func (e *Entry) Undo() bool {
	return e.Compensates() || strings.HasPrefix(e.coroutine(), world.UndoNowPath+"[")
}

// Compensates reports whether the entry undoes another step because the run does not complete.
func (e *Entry) Compensates() bool { return strings.HasPrefix(e.Path, world.UndoPath+"[") }

// coroutine is the last part of its path.
func (e *Entry) coroutine() string { return e.Path[strings.LastIndexByte(e.Path, '/')+1:] }

// Title returns the entry's name for people, with its coroutine and its occurrence if they
// distinguish it.
func (e *Entry) Title() string {
	k := e.Key()
	switch {
	case e.Undo():
		k.Path = strings.TrimSuffix(strings.TrimSuffix(k.Path, e.coroutine()), "/")
	case e.hook.Name != "":
		k.Path, k.Name = "", e.hook.Name
	}
	return k.String()
}

// Key returns what the entry's ID derives from.
func (e *Entry) Key() world.Key {
	return world.Key{Segment: e.Segment, Path: e.Path, Kind: e.Kind, Name: e.Name, Occurrence: e.Occurrence}
}

// AttemptError is the error of an attempt that was not the last.
type AttemptError struct {
	Attempt int       `json:"attempt"`
	Message string    `json:"message"`
	Code    string    `json:"code,omitempty"`
	Where   string    `json:"where,omitempty"` // file:line
	At      time.Time `json:"at"`
}

// Unread is a signal that no wait took.
type Unread struct {
	Seq     int64           `json:"seq"`
	Name    string          `json:"name"`
	At      time.Time       `json:"at"`
	Payload json.RawMessage `json:"payload,omitempty"`
}

// letter is a payload that was published for a wait.
type letter struct {
	wait    string // its ID
	payload json.RawMessage
}

// Aside is a payload that was set aside because it does not fit the code. The code never gets it.
type Aside struct {
	Seq     int64           `json:"seq"`            // number of the event that brought it
	Name    string          `json:"name"`           // name of the event or the hook
	Hook    string          `json:"hook,omitempty"` // ID of the hook; "": it was an event
	At      time.Time       `json:"at"`             // when it was set aside
	Reason  string          `json:"reason"`         // what does not fit
	Payload json.RawMessage `json:"payload,omitempty"`

	Waited bool `json:"-"` // its wait goes on: the code was not told, and nothing arrived since
}

// maxAside is how many payloads that were set aside a journal keeps.
const maxAside = 100

// maxEarlier bounds what is kept of a step that is tried for ever, maxEarlierText the bytes of each message.
const (
	maxEarlier     = 10
	maxEarlierText = 512
)

// mostNotCreated is of how many segments it is kept what was not created.
const mostNotCreated = 10

// New begins the journal of a run. Without payloads it keeps no inputs, outputs and payloads, and
// needs only a few hundred bytes for each step.
func New(run string, payloads bool) *Journal {
	return &Journal{Run: run, payloads: payloads, open: make(map[string]*Entry), mail: make(map[int64]letter), Entries: []*Entry{}}
}

// Add adds the next events of the run's log. It ignores events that it has, so a page may be fed
// twice, and events about entries that it does not know, as after trimmed segments. It keeps no
// slices of the events.
func (j *Journal) Add(events ...world.Event) {
	for i := range events {
		e := &events[i]
		if e.Seq != 0 && e.Seq <= j.Seq {
			continue
		}
		j.gap = j.gap || j.Seq > 0 && e.Seq > j.Seq+1
		j.Seq = max(j.Seq+1, e.Seq)
		if e.Commit != 0 && e.Commit != j.commit {
			j.commit = e.Commit
			j.Commits++
		}
		if e.Build != "" && !slices.Contains(j.Builds, e.Build) {
			j.Builds = append(j.Builds, e.Build)
		}
		switch e.Type {
		case world.StepCreated, world.WaitCreated, world.HookCreated, world.HookConflict:
			switch e.Kind {
			case world.KindStream, world.KindAccepted: // streams show what was written, and what was taken is the code's
			case world.KindAside:
				j.setAside(e)
			default:
				j.create(e)
			}
		case world.StepStarted, world.StepRetrying, world.StepWoken, world.StepCompleted, world.StepFailed, world.WaitCompleted, world.HookReceived, world.HookDisposed:
			if en := j.open[e.ID]; en != nil {
				j.change(en, e)
			}
		case world.SignalReceived:
			j.receive(e)
		case world.AttrSet: // the run's row shows attributes
		default:
			j.addRun(e)
		}
	}
}

// AddTask adds what a queued step's task has and the log does not have yet: its attempts so far.
// Call it after the last Add. Later events repeat it.
func (j *Journal) AddTask(t *world.Task) {
	en := j.open[t.Step]
	if en == nil {
		return
	}
	for i := range t.History {
		if e := &t.History[i]; e.Type == world.StepStarted || e.Type == world.StepRetrying || e.Type == world.StepWoken {
			j.change(en, e)
		}
	}
	if t.Worker == "" && en.Status == EntryRunning { // the worker of the last attempt is gone
		en.Status, en.RetryAt, en.CompletedAt = EntryPending, t.Visible, time.Time{}
	}
}

// Entry returns the entry of a step, wait or hook, or nil. It searches for an ended one. The next
// Add may change it.
func (j *Journal) Entry(id string) *Entry {
	if en := j.open[id]; en != nil {
		return en
	}
	if at := slices.IndexFunc(j.Entries, func(e *Entry) bool { return e.ID == id }); at >= 0 {
		return j.Entries[at]
	}
	return nil
}

// addRun takes an event about the run itself.
func (j *Journal) addRun(e *world.Event) {
	if what := e.NotCreated(); what != "" {
		j.NotCreated = append(j.NotCreated[max(len(j.NotCreated)-mostNotCreated+1, 0):], what)
	}
	switch e.Type {
	case world.RunCreated:
		j.Status, j.CreatedAt = world.Pending, e.Time
		j.Input, j.InputApart = j.keep(e.Payload), world.WholeApart(e.Apart)
		if b := e.Birth; b != nil {
			j.Workflow, j.Version, j.Parent, j.Origin = b.Workflow, b.Version, b.Parent, b.Origin
			j.gathers = gathering{b.Gather, 1}
		}
	case world.InputReceived:
		j.gathers.starts++
		if next := j.keep(e.Payload); next != nil && j.gathers.as != nil {
			j.Input, j.InputApart = j.gathers.as.JoinInput(j.Input, next), ""
		}
	case world.RunStarted:
		j.Status, j.StartedAt = world.Running, e.Time
		j.setVersion(e.Version)
	case world.RunContinued:
		j.continueRun(e)
	case world.RunCompleted:
		j.end(world.Completed, e)
		j.Output, j.OutputApart = j.keep(e.Payload), world.WholeApart(e.Apart)
	case world.RunFailed:
		j.end(world.Failed, e)
	case world.RunCancelled:
		j.end(world.Cancelled, e)
		if j.Cancel == nil {
			j.Cancel = act(e)
		}
	case world.CancelRequested:
		j.Cancel = act(e)
	}
	if paused, says := e.Pauses(); paused {
		j.Paused = act(e)
	} else if says {
		j.Paused = nil
	}
}

func (j *Journal) setVersion(v int) {
	if v != 0 {
		j.Version = v
	}
}

func (j *Journal) end(to world.Status, e *world.Event) {
	j.Status, j.CompletedAt, j.Error, j.Paused = to, e.Time, e.Error, nil
	for id, en := range j.open {
		if en.Status != EntryRunning { // one that runs may still end, where it is driven from outside
			delete(j.open, id)
		}
		j.drop(en, e.Time)
	}
}

func (j *Journal) continueRun(e *world.Event) {
	j.Segment++
	j.Input, j.InputApart = j.keep(e.Payload), world.WholeApart(e.Apart)
	next := e.Next
	if next == nil {
		next = &world.Continuation{}
	}
	j.setVersion(next.Version)
	if j.gap && next.Base != nil {
		j.enter(e)
	}
	for id, en := range j.open {
		if !slices.Contains(next.Hooks, id) {
			j.drop(en, e.Time)
			delete(j.open, id)
		}
	}
	j.Unread = slices.DeleteFunc(j.Unread, func(u Unread) bool { return !slices.Contains(next.Unread, u.Seq) })
	clear(j.mail)
}

// receive takes a signal. One that was published for a wait is for nobody where that is over.
func (j *Journal) receive(e *world.Event) {
	switch {
	case e.ID == "":
		j.Unread = append(j.Unread, Unread{Seq: j.Seq, Name: e.Name, At: happened(e), Payload: j.keep(e.Payload)})
	case j.open[e.ID] != nil:
		j.mail[j.Seq] = letter{e.ID, j.keep(e.Payload)}
	}
}

// draw returns the payload of a signal, which is no longer unread.
func (j *Journal) draw(seq int64) json.RawMessage {
	if at, ok := slices.BinarySearchFunc(j.Unread, seq, func(u Unread, seq int64) int { return cmp.Compare(u.Seq, seq) }); ok {
		payload := j.Unread[at].Payload
		j.Unread = slices.Delete(j.Unread, at, at+1)
		return payload
	}
	payload := j.mail[seq].payload
	delete(j.mail, seq)
	return payload
}

// enter begins anew with a segment, where some of what was before was trimmed: of the rest, only its open hooks are told.
func (j *Journal) enter(e *world.Event) {
	base := e.Next.Base
	j.gap, j.Trimmed, j.Segment, j.Version, j.Status, j.StartedAt, j.Paused = false, e.Seq, base.Segment, base.Version, world.Running, base.StartedAt, nil
	j.Entries = slices.DeleteFunc(j.Entries, func(en *Entry) bool {
		at := slices.Index(e.Next.Hooks, en.ID)
		if at >= 0 && at < len(base.Hooks) {
			en.Segment = base.Hooks[at].Segment
		}
		return at < 0
	})
}

// drop ends what is open when its run or segment ends.
func (j *Journal) drop(en *Entry, at time.Time) {
	en.Status, en.CompletedAt, en.RetryAt = EntryDropped, at, time.Time{}
	if en.Class == "hook" {
		en.Status = EntryDisposed
	}
}

// create begins an entry.
func (j *Journal) create(e *world.Event) {
	k := e.Key(j.Segment)
	en := &Entry{
		ID: e.ID, Name: e.Name, Kind: k.Kind, Class: "run", Occurrence: e.Occurrence, Path: e.Path, Segment: j.Segment, Seq: j.Seq,
		Status: EntryPending, CreatedAt: e.Time, Until: e.Until, Match: bytes.Clone(e.Match), Listens: e.Listen != nil, Peer: e.Peer, Token: e.Token,
	}
	done := false
	switch {
	case e.Type == world.HookConflict:
		en.Class, en.Status, en.CompletedAt, done = "hook", EntryConflicted, e.Time, true
	case e.Type == world.HookCreated:
		en.Class, en.Status = "hook", EntryActive
		en.hook.Timeout, _ = Attendance(e.Payload)
	case e.Type == world.WaitCreated:
		en.Class, en.Status, en.StartedAt = "wait", EntryWaiting, e.Time
		switch e.Kind {
		case world.KindSleep:
			en.Class = "sleep"
		case world.KindEvent:
			if h := j.open[en.Attends()]; h != nil {
				en.hook.Name = h.Name
			}
		case world.KindReceive: // what it shows is the hook's
			if h := j.open[e.Peer]; h != nil {
				en.Token = h.Token
			}
			en.Peer = ""
		}
	case e.Kind == world.KindPatch, e.Kind.Posts():
		en.Status, en.CompletedAt, done = EntryCompleted, e.Time, true
	}
	j.Entries = append(j.Entries, en)
	if !done {
		j.open[e.ID] = en
	}
}

// change takes an event about an open entry.
func (j *Journal) change(en *Entry, e *world.Event) {
	over := true
	switch e.Type {
	case world.StepStarted:
		over = false
		if en.Error != nil { // of the attempt before
			en.earlier(en.Error, en.Attempt, en.failedAt)
		}
		if en.Attempt == 0 && e.Attempt > 1 { // a task keeps the last ones
			en.Past = e.Attempt - 1
		}
		en.Status, en.Attempt, en.Error = EntryRunning, max(en.Attempt+1, e.Attempt), nil
		en.RetryAt = time.Time{}
		en.AttemptAt = happened(e)
		if en.StartedAt.IsZero() {
			en.StartedAt = en.AttemptAt
		}
	case world.StepRetrying:
		over = false
		if e.Attempt > 0 && e.Attempt < en.Attempt { // given up long ago, and only now heard of
			en.earlier(e.Error, e.Attempt, happened(e))
			return
		}
		en.Status, en.Error, en.RetryAt, en.failedAt, en.By = EntryPending, e.Error, e.RetryAt, happened(e), e.By
	case world.StepWoken:
		over = false
		if e.Attempt == 0 || e.Attempt == en.Attempt {
			en.RetryAt = time.Time{}
		}
	case world.StepCompleted:
		if en.Error != nil {
			en.earlier(en.Error, en.Attempt, en.failedAt)
		}
		en.Status, en.Output, en.OutputApart, en.Error = EntryCompleted, j.keep(e.Payload), world.WholeApart(e.Apart), nil
		en.By = e.By
	case world.StepFailed:
		if en.Error != nil {
			en.earlier(en.Error, en.Attempt, en.failedAt)
		}
		en.Status, en.Error, en.By = EntryFailed, e.Error, e.By
	case world.WaitCompleted:
		if en.Kind == world.KindEvent {
			j.passed("", en.Name)
		}
		if hook := en.Attends(); hook != "" && e.Outcome == world.OutcomeReceived {
			j.heard(hook, e.Time, en.Until)
		}
		en.Status, en.Outcome = EntryCompleted, e.Outcome
		en.Output = j.keep(e.Payload)
		if payload := j.draw(e.From); en.Output == nil {
			en.Output = payload
		}
		maps.DeleteFunc(j.mail, func(_ int64, l letter) bool { return l.wait == en.ID })
	case world.HookReceived:
		over = false
		en.Received++
		j.passed(en.ID, en.Name)
	case world.HookDisposed:
		j.passed(en.ID, en.Name)
		en.Status = EntryDisposed
	}
	if over {
		en.CompletedAt, en.RetryAt, en.ended = happened(e), time.Time{}, j.Seq
		delete(j.open, en.ID)
	}
}

// passed notes that nobody waits any more for what a payload that was set aside could have been.
func (j *Journal) passed(hook, name string) {
	for i := range j.Aside {
		if a := &j.Aside[i]; a.Hook == hook && a.Name == name {
			a.Waited = false
		}
	}
}

// setAside takes the record of a payload that was set aside.
func (j *Journal) setAside(e *world.Event) {
	a := Aside{Seq: e.From, Name: e.Name, Hook: e.Peer, At: e.Time, Waited: e.Outcome != world.OutcomeTold}
	if e.Error != nil {
		a.Reason = e.Error.Message
	}
	a.Payload = j.draw(e.From)
	if len(j.Aside) == maxAside {
		j.Aside = slices.Delete(j.Aside, 0, 1)
	}
	j.Aside = append(j.Aside, a)
}

// earlier keeps the error of an attempt that was not the last.
func (en *Entry) earlier(err *world.Error, attempt int, at time.Time) {
	if err == nil {
		return
	}
	msg := err.Message
	if len(msg) > maxEarlierText {
		msg = string(bytes.ToValidUTF8([]byte(msg[:maxEarlierText]), nil)) + "…"
	}
	if len(en.Earlier) == maxEarlier {
		en.Past = max(en.Past, en.Earlier[0].Attempt)
		en.Earlier = slices.Delete(en.Earlier, 0, 1)
	}
	en.Earlier = append(en.Earlier, AttemptError{Attempt: attempt, Message: msg, Code: err.Code, Where: err.Where, At: at})
}

// keep copies a payload where payloads are wanted, so that a page can be freed.
func (j *Journal) keep(b json.RawMessage) json.RawMessage {
	if !j.payloads {
		return nil
	}
	return bytes.Clone(b)
}

func act(e *world.Event) *Act { return &Act{By: e.By, Reason: e.Reason, At: happened(e)} }

// happened is when an event's matter took place.
func happened(e *world.Event) time.Time {
	if !e.OccurredAt.IsZero() {
		return e.OccurredAt
	}
	return e.Time
}
