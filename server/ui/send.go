package ui

// This file has the forms that send to a run: events, payloads of hooks, and their heartbeats. What they take stands
// there as fields, where a live worker has said it and it is short, as in the form of a start.

import (
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/internal/schema"
	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/journal"
)

// mostOffered is how many events a form proposes to send.
const mostOffered = 20

// attends reports whether an entry waits for heartbeats of a hook.
func attends(en *journal.Entry) bool { return en.Attends() != "" && en.Status == journal.EntryWaiting }

func signalForm(u *UI, v *visit, info *stepwell.RunInfo) (*form, error) {
	s, err := u.app.Story(v.Context(), info.ID, false)
	if err != nil {
		return nil, err
	}
	event := v.URL.Query().Get("event")
	if v.Form.Has("event") { // it was sent, and is shown once more
		event = v.Form.Get("event")
	}
	var names []string
	var match json.RawMessage
	for _, en := range s.Journal.Entries {
		if en.Kind != world.KindEvent || en.Status != journal.EntryWaiting || attends(en) {
			continue
		}
		if event == "" {
			event = en.Name
		}
		if en.Name == event && len(en.Match) > 0 && !info.Sealed {
			match = en.Match
		}
		if len(names) < mostOffered {
			names = append(names, en.Name)
		}
	}
	known, err := u.app.Schemas(v.Context(), info.Workflow, info.Version)
	if err != nil {
		return nil, err
	}
	for _, name := range sortedNames(known.Events) {
		if len(names) < mostOffered && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	f := &form{
		Title: "Send an event to this run", About: "The first matching wait takes it. An event that arrives before its wait is kept.", Submit: "Send",
	}
	payload, fields := payloadFields(v, accepted(known.Events[event]), match)
	if fields {
		f.Fields = []field{{Name: "event", Kind: "hidden", Value: event}}
		f.Title = "Send the event " + strconv.Quote(event) + " to this run"
		f.Other, f.OtherPath = "Another event, or write it as JSON", asJSON(info.ID, "signal", event, true)
	} else {
		f.Fields = []field{{Name: "event", Label: "Event", Kind: "text", Value: event, Needed: true, Choices: names}}
		if membersOf(accepted(known.Events[event])) != nil {
			f.Other, f.OtherPath = "Fill in fields", asJSON(info.ID, "signal", event, false)
		}
	}
	f.Fields = append(f.Fields, payload...)
	// Sent twice, the form sends once.
	f.Fields = append(f.Fields, field{Name: "delivery", Kind: "hidden", Value: world.NewID("dlvr", time.Now())})
	return f, nil
}

// sortedNames are the events that a workflow says it takes.
func sortedNames(events map[string]json.RawMessage) (names []string) {
	for name := range events {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// asJSON is the address of a form that sends, with its payload as JSON or as fields.
func asJSON(run, act, event string, as bool) string {
	query := url.Values{}
	if event != "" {
		query.Set("event", event)
	}
	if as {
		query.Set("as", "json")
	}
	return runPath(run) + "/act/" + act + "?" + query.Encode()
}

// accepted is the schema of a payload; nil: nobody has said any.
func accepted(text json.RawMessage) *schema.Schema {
	if text == nil {
		return nil
	}
	s, err := schema.Parse(text)
	if err != nil {
		return nil // as if nobody had said it
	}
	return s
}

// payloadFields are the fields of a payload: one for each member, or one for all as JSON. What it begins with is in
// them.
func payloadFields(v *visit, accepts *schema.Schema, begins json.RawMessage) (fields []field, members bool) {
	all := membersOf(accepts)
	if members = all != nil && v.URL.Query().Get("as") != "json" && !v.Form.Has("payload"); !members {
		f := field{Name: "payload", Label: "Payload", Kind: "area", Value: "{}", Hint: "JSON"}
		if accepts != nil {
			f.Value, f.Hint = string(accepts.Skeleton()), "JSON: "+accepts.Words()+"."
		}
		if len(begins) > 0 {
			f.Value = string(pretty(begins, someBytes))
		}
		return []field{f}, false
	}
	var given map[string]json.RawMessage
	if json.Unmarshal(begins, &given) == nil {
		for i := range all {
			fill(&all[i], given)
		}
	}
	return append(all, field{Name: "filled", Kind: "hidden", Value: "yes"}), true
}

// fill puts into a field of a member what is given of it.
func fill(f *field, given map[string]json.RawMessage) {
	value, ok := given[f.Label]
	if !ok {
		return
	}
	f.Value = string(value)
	var text string
	switch {
	case f.Name == textMember+f.Label && json.Unmarshal(value, &text) == nil:
		f.Value = text
	case f.Kind == "check" && f.Value != f.Check:
		f.Value = ""
	}
}

// hooksOf is the field that names a hook of a run.
func hooksOf(hooks []world.HookRow) field {
	token := field{Name: "hook", Label: "Token", Kind: "text", Needed: true, Hint: "A hook of this run."}
	for i := range hooks {
		token.Choices = append(token.Choices, hooks[i].Token)
	}
	if len(hooks) > 0 {
		token.Value = hooks[0].Token
	}
	return token
}

func hookForm(u *UI, v *visit, info *stepwell.RunInfo) (*form, error) {
	hooks, err := u.world.Hooks(v.Context(), world.HookQuery{Run: info.ID, Limit: mostOffered})
	if err != nil {
		return nil, err
	}
	known, err := u.app.Schemas(v.Context(), info.Workflow, info.Version)
	if err != nil {
		return nil, err
	}
	var accepts *schema.Schema
	if len(known.Hooks) > 0 { // of several, the first is a sample
		accepts = accepted(known.Hooks[0])
	}
	f := &form{Title: "Send to a hook of this run", About: "Payloads are kept in order until the run receives them.", Submit: "Send"}
	payload, fields := payloadFields(v, accepts, nil)
	switch n := len(known.Hooks); {
	case n > 1 && accepts != nil:
		payload = []field{{Name: "payload", Label: "Payload", Kind: "area", Value: string(accepts.Skeleton()), Hint: fmt.Sprintf("JSON, of one of %d types.", n)}}
	case fields:
		f.Other, f.OtherPath = "Write it as JSON", asJSON(info.ID, "hook", "", true)
	case membersOf(accepts) != nil:
		f.Other, f.OtherPath = "Fill in fields", asJSON(info.ID, "hook", "", false)
	}
	f.Fields = append([]field{hooksOf(hooks)}, payload...)
	f.Fields = append(f.Fields, field{Name: "delivery", Kind: "hidden", Value: world.NewID("dlvr", time.Now())})
	return f, nil
}

func heartbeatForm(u *UI, v *visit, info *stepwell.RunInfo) (*form, error) {
	all, err := u.app.Hooks(v.Context(), info.ID, "")
	if err != nil {
		return nil, err
	}
	attended := slices.DeleteFunc(all, func(h world.HookRow) bool { return h.Heartbeat == "" })
	if len(attended) == 0 {
		return nil, fmt.Errorf("%w: no open hook of this run takes heartbeats", world.ErrInvalid)
	}
	token := hooksOf(attended)
	token.Hint = fmt.Sprintf("A hook of this run; its wait ends if no heartbeat arrives for %s.", attended[0].Heartbeat)
	return &form{
		Title: "Say that someone is still working on it", About: "Someone who has the token of a hook is still working on it, so the run keeps waiting.",
		Fields: []field{token, {Name: "payload", Label: "Details", Kind: "area", Hint: "JSON that people see with the run. Empty: none."}},
		Submit: "Still working",
	}, nil
}

// sending is the payload of a form, and the ID under which it is delivered once.
func (v *visit) sending() (json.RawMessage, []stepwell.SendOption, error) {
	payload, err := v.json("payload")
	if v.Form.Has("filled") {
		payload, err = v.members()
	}
	if err != nil {
		return nil, nil, err
	}
	if payload == nil {
		payload = json.RawMessage("null")
	}
	if id := v.Form.Get("delivery"); id != "" {
		return payload, []stepwell.SendOption{stepwell.DeliveryID(id)}, nil
	}
	return payload, nil, nil
}

func sendSignal(u *UI, v *visit, info *stepwell.RunInfo) (run, did string, err error) {
	payload, opts, err := v.sending()
	if err != nil {
		return "", "", err
	}
	return info.ID, "signal", u.app.Signal(v.Context(), info.ID, v.Form.Get("event"), payload, opts...)
}

// hookNamed checks that a form names an open hook of its run.
func (v *visit) hookNamed(u *UI, run string) (token string, err error) {
	token = v.Form.Get("hook")
	hooks, err := u.app.Hooks(v.Context(), run, token)
	if err == nil && len(hooks) == 0 {
		err = fmt.Errorf("%w: this run has no open hook with that token", world.ErrInvalid)
	}
	return token, err
}

func sendHook(u *UI, v *visit, info *stepwell.RunInfo) (run, did string, err error) {
	payload, opts, err := v.sending()
	if err != nil {
		return "", "", err
	}
	token, err := v.hookNamed(u, info.ID)
	if err != nil {
		return "", "", err
	}
	return info.ID, "hook", u.app.SendHook(v.Context(), token, payload, opts...)
}

func sendHeartbeat(u *UI, v *visit, info *stepwell.RunInfo) (run, did string, err error) {
	payload, _, err := v.sending()
	if err != nil {
		return "", "", err
	}
	token, err := v.hookNamed(u, info.ID)
	if err != nil {
		return "", "", err
	}
	return info.ID, "heartbeat", u.app.HeartbeatHook(v.Context(), token, payload)
}
