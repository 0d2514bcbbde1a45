package wdk

// How an event of the DevKit is an event of ours, and how it comes back.
//
// What the DevKit says of an event, its eventData, is the payload of ours, as it came: values that are bytes are
// objects that its client makes and reads, see clients/wdk. Beside that our event has in its own fields what the
// log's rules, the UI and Why stand on: IDs, names, attempts, times, tokens, errors. Errors have eventData.error
// as their Value, and attributes are our attributes, one an event.

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/stepwell/stepwell/internal/devalue"
	"github.com/stepwell/stepwell/world"
)

// eventIn is an event as the DevKit asks for it.
type eventIn struct {
	Type          world.EventType            `json:"eventType"`
	CorrelationID string                     `json:"correlationId"`
	Spec          int                        `json:"specVersion"`
	Data          map[string]json.RawMessage `json:"eventData"`
}

// eventOut is an event as the DevKit reads it.
type eventOut struct {
	Type          world.EventType            `json:"eventType"`
	CorrelationID string                     `json:"correlationId,omitempty"`
	Spec          int                        `json:"specVersion,omitempty"`
	Data          map[string]json.RawMessage `json:"eventData,omitempty"`
	RunID         string                     `json:"runId"`
	EventID       string                     `json:"eventId"`
	CreatedAt     time.Time                  `json:"createdAt"`
	ResumeID      string                     `json:"resumeId,omitempty"`
}

// check refuses an event that is not to come to a log.
func (e *eventIn) check() error {
	bytes := 0
	for k, v := range e.Data {
		bytes += len(k) + len(v)
	}
	if bytes > world.MaxCommit {
		return fmt.Errorf("%w: %.40s with %d bytes: an event may have %d; keep what is larger elsewhere, and pass a reference",
			world.ErrTooLarge, e.Type, bytes, world.MaxCommit)
	}
	return nil
}

// text reads a member of the data that is a string; "" where it is none.
func (e *eventIn) text(name string) string { return textOf(e.Data[name]) }

func textOf(b json.RawMessage) (s string) {
	_ = json.Unmarshal(b, &s) // what is none is as good as not there
	return s
}

func quoted(s string) json.RawMessage {
	b, _ := json.Marshal(s) // a string always is JSON
	return b
}

// moment reads a member of the data that is a time; zero where it is not there.
func (e *eventIn) moment(name string) (time.Time, error) {
	b := e.Data[name]
	if len(b) == 0 || string(b) == "null" {
		return time.Time{}, nil
	}
	t, err := time.Parse(time.RFC3339Nano, textOf(b))
	if err != nil {
		return t, fmt.Errorf("%w: %s: %s is not a time", world.ErrInvalid, e.Type, name)
	}
	return world.Within(t.UTC().Truncate(time.Microsecond)), nil
}

// data is the event's data as our event keeps it, without what the event has in its own fields.
func (e *eventIn) data(without ...string) json.RawMessage {
	m := make(map[string]json.RawMessage, len(e.Data))
	for k, v := range e.Data {
		m[k] = v
	}
	for _, k := range without {
		delete(m, k)
	}
	if len(m) == 0 {
		return nil
	}
	b, _ := json.Marshal(m) // members came as JSON
	return b
}

// carriers are the members of data with what the workflow or its steps made of values: left out where nobody wants
// them.
var carriers = map[world.EventType]string{
	world.RunCreated: "input", world.RunCompleted: "output", world.RunFailed: "error",
	world.StepCreated: "input", world.StepStarted: "input", world.StepCompleted: "result",
	world.StepFailed: "error", world.StepRetrying: "error",
	world.HookCreated: "metadata", world.HookReceived: "payload",
}

// The members of payloads that are not the DevKit's data: of a run_created, and of a hook_received.
const (
	specMember   = "specVersion"
	digestMember = "resumePayloadDigest"
)

// hidden reports whether an event of ours is none of the DevKit's: it has no position there.
func hidden(e *world.Event) bool {
	switch e.Type {
	case world.RunContinued, world.CancelRequested, world.RunPaused, world.RunResumed, world.StepWoken, world.SignalReceived:
		return true
	case world.AttrSet:
		return e.Occurrence > 0 // of several attributes that are set at once, all but the first
	}
	return false
}

// out is an event as the DevKit reads it. At is its place in the run's events.
func (r *run) out(at int, all bool) eventOut {
	e := &r.events[at]
	o := eventOut{
		Type: e.Type, CorrelationID: e.ID, Spec: r.spec, RunID: r.id, EventID: eventID(r.slots[at]), CreatedAt: e.Time, ResumeID: e.Delivery,
	}
	switch e.Type {
	case world.AttrSet:
		o.Data = r.attributesSet(at)
		return o
	case world.WaitCreated:
		o.Data = map[string]json.RawMessage{"resumeAt": quoted(e.Until.Format(time.RFC3339Nano))}
		return o
	case world.HookConflict:
		o.Data = map[string]json.RawMessage{"token": quoted(e.Token)}
		if e.Peer != "" {
			o.Data["conflictingRunId"] = quoted(e.Peer)
		}
		return o
	}
	if len(e.Payload) > 0 {
		_ = json.Unmarshal(e.Payload, &o.Data) // of an event that somebody else wrote there is none
	}
	if e.Type == world.RunCreated {
		delete(o.Data, specMember)
	}
	if e.Type == world.HookReceived {
		delete(o.Data, digestMember)
	}
	set := func(name string, v json.RawMessage) {
		if o.Data == nil {
			o.Data = map[string]json.RawMessage{}
		}
		o.Data[name] = v
	}
	if e.Error != nil && carriers[e.Type] == "error" {
		if set("error", e.Error.Value); len(e.Error.Value) == 0 {
			set("error", devalue.Of(quoted(e.Error.Message)))
		}
		if e.Type == world.RunFailed && e.Error.Code != "" {
			set("errorCode", quoted(e.Error.Code))
		}
	}
	if e.Type == world.HookCreated {
		set("token", quoted(e.Token))
	}
	if e.Type == world.RunCancelled && e.Reason != "" {
		set("cancelReason", quoted(e.Reason))
	}
	if !all {
		delete(o.Data, carriers[e.Type])
		if len(o.Data) == 0 {
			o.Data = nil
		}
	}
	return o
}

// eventID is the ID of the event at a position.
func eventID(slot int64) string { return fmt.Sprintf("evnt_%026d", slot) }

// attributesSet is what the attributes that were set at once were.
func (r *run) attributesSet(at int) map[string]json.RawMessage {
	type change struct {
		Key   string          `json:"key"`
		Value json.RawMessage `json:"value"`
	}
	var changes []change
	reserved := false
	for i := at; i < len(r.events) && (i == at || r.events[i].Type == world.AttrSet && r.events[i].Occurrence == i-at); i++ {
		changes = append(changes, change{r.events[i].Name, r.events[i].Payload})
		reserved = reserved || strings.HasPrefix(r.events[i].Name, "$")
	}
	all, _ := json.Marshal(changes)
	writer := json.RawMessage(`{"type":"workflow"}`)
	if path := r.events[at].Path; strings.Contains(path, "#") {
		mark := strings.LastIndex(path, "#")
		if n, err := strconv.Atoi(path[mark+1:]); err == nil {
			writer = json.RawMessage(`{"type":"step","stepId":` + string(quoted(path[:mark])) + `,"attempt":` + strconv.Itoa(n) + `}`)
		}
	}
	out := map[string]json.RawMessage{"changes": all, "writer": writer}
	if reserved {
		out["allowReservedAttributes"] = json.RawMessage("true")
	}
	return out
}

// workflowName is what our runs of a workflow of the DevKit are called: workflow//./src/order//place is
// wdk.src.order.place.
func workflowName(theirs string) string {
	s := strings.TrimPrefix(strings.TrimPrefix(theirs, "workflow//"), "./")
	s = strings.Trim(strange.ReplaceAllString(strings.ReplaceAll(s, "//", "."), "."), ".")
	if most := world.MaxWorkflowName - len(Prefix); len(s) > most {
		s = s[len(s)-most:]
	}
	return Prefix + s
}

var strange = regexp.MustCompile(`[^A-Za-z0-9_-]+`)

// shortName is what people call a step or a workflow of the DevKit.
func shortName(theirs string) string {
	if i := strings.LastIndex(theirs, "//"); i >= 0 {
		theirs = theirs[i+2:]
	}
	if theirs == "" {
		return "?"
	}
	return theirs[:min(len(theirs), world.MaxName)]
}
