package main

// This file says what an assistant is shown: the members that are named here, of what --json says, and no others. What
// may hold data of an application (inputs, outputs, payloads, attributes, messages of errors, keys of limits) is
// hidden unless it was asked for; tokens of hooks, seeds and stacks always are.

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/internal/human"
	"github.com/stepwell/stepwell/internal/operate"
	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/journal"
)

// Bounds of what is shown, each in characters or bytes.
const (
	mostText    = 1000    // of a text
	mostLines   = 4000    // of what a command says of its failure
	mostOfList  = 1 << 10 // of a payload in a list
	mostOfRun   = 8 << 10 // of the input and output of one run
	mostAnswer  = 1 << 18 // of an answer
	mostErrors  = 3       // of earlier attempts of a step
	mostEntries = 60      // steps and waits of a run
	mostNamed   = 20      // workflows, steps, runs that something names
)

const hidden = "(hidden: see --show-payloads)"

// view is what is shown beside what always is.
type view struct{ payloads bool }

func short(s string) string { return human.Cut(s, mostText) }

// cutLines cuts a text of some lines.
func cutLines(s string) string {
	if s = human.VisibleLines(s); len(s) > mostLines {
		s = strings.ToValidUTF8(s[:mostLines], "") + "…"
	}
	return s
}

func some[T any](list []T) []T { return list[:min(len(list), mostNamed)] }

// text is a text that may hold data.
func (v view) text(s string) string {
	if s == "" || v.payloads {
		return short(s)
	}
	return hidden
}

// payload is JSON, where it is shown: as text that is cut, where it is long.
func (v view) payload(b json.RawMessage, most int) any {
	switch {
	case !v.payloads || len(b) == 0:
		return nil
	case len(b) <= most:
		return b
	}
	return strings.ToValidUTF8(string(b[:most]), "") + "… (" + human.Size(len(b)) + ")"
}

func (v view) attributes(all map[string]json.RawMessage) map[string]any {
	if !v.payloads || len(all) == 0 {
		return nil
	}
	out := map[string]any{}
	for name, value := range all {
		out[name] = v.payload(value, mostOfList)
	}
	return out
}

// Failure is an error.
type Failure struct {
	Type      string `json:"name,omitempty" jsonschema:"its Go type or registered name"`
	Code      string `json:"code,omitempty"`
	Where     string `json:"where,omitempty" jsonschema:"file and line in the code"`
	Message   string `json:"message,omitempty" jsonschema:"hidden unless payloads are shown"`
	Permanent bool   `json:"permanent,omitempty" jsonschema:"another attempt is not worth it"`
	Step      string `json:"step,omitempty" jsonschema:"ID of the step whose failure it is"`
	Attempt   int    `json:"attempt,omitempty"`
}

func (v view) failure(e *world.Error) *Failure {
	if e == nil {
		return nil
	}
	return &Failure{Type: short(e.Name), Code: short(e.Code), Where: short(e.Where), Message: v.text(e.Message), Permanent: e.Permanent, Step: e.Step}
}

func (v view) attempt(e *journal.AttemptError) *Failure {
	if e == nil {
		return nil
	}
	return &Failure{Code: short(e.Code), Where: short(e.Where), Message: v.text(e.Message), Attempt: e.Attempt}
}

// Run is a run.
type Run struct {
	ID          string         `json:"id"`
	Workflow    string         `json:"workflow"`
	Version     int            `json:"version"`
	Status      world.Status   `json:"status"`
	Key         string         `json:"idempotencyKey,omitempty"`
	Priority    int            `json:"priority"`
	CreatedAt   time.Time      `json:"createdAt"`
	StartedAt   time.Time      `json:"startedAt,omitzero"`
	EndedAt     time.Time      `json:"endedAt,omitzero"`
	Claims      int64          `json:"claims" jsonschema:"how often a worker claimed it"`
	Parent      *world.Parent  `json:"parent,omitempty"`
	Origin      *world.Origin  `json:"origin,omitempty" jsonschema:"the run that this one was forked, restarted or retried from"`
	Newest      *world.Heir    `json:"newest,omitempty" jsonschema:"the run that took its place, as a retry does"`
	Error       *Failure       `json:"error,omitempty"`
	Damage      string         `json:"damage,omitempty"`
	InputBytes  int            `json:"inputBytes,omitempty"`
	OutputBytes int            `json:"outputBytes,omitempty"`
	Attributes  map[string]any `json:"attributes,omitempty" jsonschema:"hidden unless payloads are shown, as are input and output"`
	Input       any            `json:"input,omitempty"`
	Output      any            `json:"output,omitempty"`
}

func (v view) run(r *stepwell.RunInfo, most int) Run {
	return Run{
		ID: r.ID, Workflow: r.Workflow, Version: r.Version, Status: r.Status, Key: short(r.Key), Priority: r.Priority, CreatedAt: r.CreatedAt, StartedAt: r.StartedAt,
		EndedAt: r.EndedAt, Claims: r.Claims, Parent: r.Parent, Origin: r.Origin, Newest: r.Newest, Error: v.failure(r.Error), Damage: v.text(r.Damage),
		InputBytes: len(r.Input), OutputBytes: len(r.Output), Attributes: v.attributes(r.Attributes), Input: v.payload(r.Input, most), Output: v.payload(r.Output, most),
	}
}

// Step is a step, wait or hook of a run.
type Step struct {
	ID          string              `json:"id" jsonschema:"correlation ID, for get_events"`
	Name        string              `json:"name"`
	Kind        world.Kind          `json:"type"`
	Path        string              `json:"path,omitempty" jsonschema:"the coroutine"`
	Segment     int                 `json:"segment,omitempty"`
	Seq         int64               `json:"seq" jsonschema:"number of the event that created it"`
	Status      journal.EntryStatus `json:"status"`
	Attempt     int                 `json:"attempt,omitempty"`
	CreatedAt   time.Time           `json:"createdAt"`
	StartedAt   time.Time           `json:"startedAt,omitzero"`
	CompletedAt time.Time           `json:"completedAt,omitzero"`
	RetryAt     time.Time           `json:"retryAt,omitzero"`
	Until       time.Time           `json:"until,omitzero"`
	Outcome     world.Outcome       `json:"outcome,omitempty"`
	Peer        string              `json:"peer,omitempty" jsonschema:"the other run"`
	Received    int                 `json:"received,omitempty" jsonschema:"payloads that a hook got"`
	Error       *Failure            `json:"error,omitempty"`
	Earlier     []*Failure          `json:"earlier,omitempty" jsonschema:"how attempts before ended, the last ones"`
	Match       any                 `json:"match,omitempty" jsonschema:"hidden unless payloads are shown, as are output and progress"`
	Output      any                 `json:"output,omitempty"`
	Progress    any                 `json:"progress,omitempty"`
}

func (v view) step(en *journal.Entry) Step {
	out := Step{
		ID: en.ID, Name: short(en.Key().String()), Kind: en.Kind, Path: short(en.Path), Segment: en.Segment, Seq: en.Seq, Status: en.Status, Attempt: en.Attempt,
		CreatedAt: en.CreatedAt, StartedAt: en.StartedAt, CompletedAt: en.CompletedAt, RetryAt: en.RetryAt, Until: en.Until, Outcome: en.Outcome, Peer: en.Peer,
		Received: en.Received, Error: v.failure(en.Error), Match: v.payload(en.Match, mostOfList), Output: v.payload(en.Output, mostOfList),
	}
	for i := max(len(en.Earlier)-mostErrors, 0); i < len(en.Earlier); i++ {
		out.Earlier = append(out.Earlier, v.attempt(&en.Earlier[i]))
	}
	if en.Progress != nil {
		out.Progress = v.payload(en.Progress.Value, mostOfList)
	}
	return out
}

// Journal is what happened in a run.
type Journal struct {
	Steps    []Step       `json:"steps" jsonschema:"those that are open or failed, and the last ones, in order"`
	LeftOut  int          `json:"stepsLeftOut,omitempty" jsonschema:"how many others there are"`
	Segment  int          `json:"segment"`
	Seq      int64        `json:"seq" jsonschema:"number of the last event"`
	Commits  int          `json:"commits"`
	Builds   []string     `json:"builds,omitempty"`
	Cancel   *journal.Act `json:"cancel,omitempty"`
	Paused   *journal.Act `json:"paused,omitempty"`
	Unread   int          `json:"unread,omitempty" jsonschema:"events that were sent and no wait took"`
	SetAside int          `json:"setAside,omitempty" jsonschema:"payloads that did not fit the code"`
}

func (v view) journal(j *journal.Journal) Journal {
	out := Journal{Steps: []Step{}, Segment: j.Segment, Seq: j.Seq, Commits: j.Commits, Builds: some(j.Builds), Cancel: act(j.Cancel), Paused: act(j.Paused),
		Unread: len(j.Unread), SetAside: len(j.Aside)}
	room := mostEntries / 2 // for those that are not the last
	for i, en := range j.Entries {
		settled := en.Status == journal.EntryCompleted || en.Status == journal.EntryDisposed
		if last := len(j.Entries)-i <= mostEntries/2; !last && (settled || room == 0) {
			out.LeftOut++
			continue
		} else if !last {
			room--
		}
		out.Steps = append(out.Steps, v.step(en))
	}
	return out
}

func act(a *journal.Act) *journal.Act {
	if a == nil {
		return nil
	}
	return &journal.Act{By: short(a.By), Reason: short(a.Reason), At: a.At}
}

// Retry says what a retry would do.
type Retry struct {
	Steps   []string `json:"steps,omitempty" jsonschema:"the steps that failed, and run again"`
	Does    string   `json:"does,omitempty"`
	Refused string   `json:"refused,omitempty" jsonschema:"why there is no retry"`
	Instead string   `json:"instead,omitempty" jsonschema:"what can be done instead"`
}

func retryOf(r *stepwell.RetryAdvice) *Retry {
	if r == nil {
		return nil
	}
	out := &Retry{Steps: some(r.Steps), Refused: short(r.Refused), Instead: short(r.Instead())}
	if r.Refused == "" {
		out.Does = short(r.Does())
	}
	return out
}

// Event is a fact in the log of a run.
type Event struct {
	EventID      string          `json:"eventId"`
	Seq          int64           `json:"seq"`
	Type         world.EventType `json:"type"`
	Time         time.Time       `json:"time"`
	ID           string          `json:"id,omitempty" jsonschema:"correlation ID of the step, wait or hook"`
	Kind         world.Kind      `json:"kind,omitempty"`
	Name         string          `json:"name,omitempty"`
	Path         string          `json:"path,omitempty"`
	Attempt      int             `json:"attempt,omitempty"`
	Error        *Failure        `json:"error,omitempty"`
	RetryAt      time.Time       `json:"retryAt,omitzero"`
	Until        time.Time       `json:"until,omitzero"`
	Outcome      world.Outcome   `json:"outcome,omitempty"`
	From         int64           `json:"from,omitempty" jsonschema:"number of the event that was taken"`
	Peer         string          `json:"peer,omitempty" jsonschema:"the other run"`
	By           string          `json:"by,omitempty"`
	Reason       string          `json:"reason,omitempty"`
	Version      int             `json:"version,omitempty"`
	Build        string          `json:"build,omitempty"`
	PayloadBytes int             `json:"payloadBytes,omitempty"`
	Payload      any             `json:"payload,omitempty" jsonschema:"hidden unless payloads are shown"`
}

func (v view) event(e *world.NamedEvent) Event {
	return Event{
		EventID: e.EventID, Seq: e.Seq, Type: e.Type, Time: e.Time, ID: e.ID, Kind: e.Kind, Name: short(e.Name), Path: short(e.Path), Attempt: e.Attempt,
		Error: v.failure(e.Error), RetryAt: e.RetryAt, Until: e.Until, Outcome: e.Outcome, From: e.From, Peer: e.Peer, By: short(e.By), Reason: short(e.Reason),
		Version: e.Version, Build: short(e.Build), PayloadBytes: len(e.Payload), Payload: v.payload(e.Payload, mostOfList),
	}
}

// Cause is what some runs failed of, are blocked by, or try again.
type Cause struct {
	Status    world.Status `json:"status" jsonschema:"failed, blocked or retrying"`
	Code      string       `json:"code,omitempty"`
	Message   string       `json:"message" jsonschema:"of the newest; hidden unless payloads are shown, but for the step that is tried again"`
	Where     string       `json:"where,omitempty"`
	Workflows []string     `json:"workflows"`
	Count     int          `json:"count"`
	Runs      []string     `json:"runs" jsonschema:"IDs, the newest first, at most 20"`
	First     time.Time    `json:"first"`
	Last      time.Time    `json:"last"`
}

func (v view) cause(c *operate.Cause) Cause {
	text := v.text(c.Message)
	if step, ok := retriedStep(c); ok && !v.payloads {
		text = step
	}
	return Cause{Status: c.Status, Code: short(c.Code), Message: text, Where: short(c.Where), Workflows: some(c.Workflows), Count: c.Count, Runs: some(c.Runs), First: c.First, Last: c.Last}
}

// retriedStep names the step that is tried again, as the message of a cause begins.
func retriedStep(c *operate.Cause) (string, bool) {
	rest, ok := strings.CutPrefix(c.Message, "step ")
	if !ok || c.Status != world.StandsRetrying {
		return "", false
	}
	name, err := strconv.QuotedPrefix(rest)
	return short("step " + name), err == nil
}

// fits reports whether an answer is not too large.
func fits(answer any) bool {
	var b bytes.Buffer
	return json.NewEncoder(&b).Encode(answer) == nil && b.Len() <= mostAnswer
}
