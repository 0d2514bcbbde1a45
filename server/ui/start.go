package ui

// This file has the form that starts a run: what its input takes stands there as fields, where a live worker has said it and it is short.

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/internal/human"
	"github.com/stepwell/stepwell/internal/schema"
	"github.com/stepwell/stepwell/world"
)

// mostMembers is how many fields an input may have; with more it is JSON in one.
const mostMembers = 24

// Names of fields of an input begin so, by what they hold: a text as it is, or JSON.
const (
	textMember = "in.text."
	jsonMember = "in.json."
)

// newStart is the form of a start, by what is known of the workflow.
func newStart(u *UI, v *visit, version int, asJSON bool) (*form, error) {
	name := v.PathValue("workflow")
	if err := world.CheckWorkflowName(name); err != nil {
		return nil, err
	}
	known, err := u.app.Schemas(v.Context(), name, version)
	if err != nil {
		return nil, err
	}
	f := &form{
		Workflow: name, Back: Base + "workflows", Title: "Start a run of " + name, Path: Base + "workflows/" + url.PathEscape(name) + "/start", Submit: "Start",
		About: "The run is durable when the next page appears; a worker that has the workflow takes it.",
	}
	var accepts *schema.Schema
	if known.Input != nil {
		if accepts, err = schema.Parse(known.Input); err != nil {
			accepts = nil // as if nobody had said it
		}
	}
	members := membersOf(accepts)
	switch {
	case accepts == nil:
		f.Fields = []field{{Name: "input", Label: "Input", Kind: "area", Value: "{}", Hint: "JSON. No live worker describes the input."}}
	case asJSON || members == nil:
		f.Fields = []field{{Name: "input", Label: "Input", Kind: "area", Value: string(accepts.Skeleton()), Hint: fmt.Sprintf("JSON, as version %d claims it.", known.Version)}}
	default:
		f.Fields = members
		f.Other, f.OtherPath = "Write it as JSON", f.Path+"?as=json"
	}
	if asJSON && members != nil {
		f.Other, f.OtherPath = "Fill in fields", f.Path
	}
	if f.Other != "" && version > 0 {
		f.OtherPath += map[bool]string{true: "&", false: "?"}[strings.Contains(f.OtherPath, "?")] + fmt.Sprintf("version=%d", version)
	}
	chosen := ""
	if version > 0 {
		chosen = fmt.Sprint(version)
	}
	f.Fields = append(f.Fields,
		field{Name: "key", Label: "Idempotency key", Kind: "text", Hint: "With the same key you get the same run."},
		field{Name: "id", Label: "ID", Kind: "text", Value: world.NewID(world.PrefixRun, time.Now()), Hint: "A new one, or your own."},
		field{Name: "priority", Label: "Priority", Kind: "text", Hint: "From 1 to 4, which is served first. Empty: 2.", Choices: []string{"1", "2", "3", "4"}},
		field{Name: "attributes", Label: "Attributes", Kind: "area", Hint: "One a line, such as city=Ulm. A value is JSON or a text."},
		field{Name: "event", Label: "Event", Kind: "text", Hint: "An event to send with the start, also to a run that has the key. Empty: none."},
		field{Name: "payload", Label: "Payload of the event", Kind: "area", Hint: "JSON. Empty: null."},
		field{Name: "delivery", Kind: "hidden", Value: world.NewID("dlvr", time.Now())}, // sent twice, it sends once
		field{Name: "delay", Label: "Delay", Kind: "text", Hint: "Such as 90s, 5m, 2h or 7d. Empty: at once."},
		field{Name: "version", Label: "Version", Kind: "text", Value: chosen, Hint: "Empty: the highest version that a live worker has."},
	)
	return f, nil
}

// membersOf are fields for the members of what an input takes; nil: it is no object, or has too many.
func membersOf(accepts *schema.Schema) (fields []field) {
	if accepts == nil || len(accepts.Type) == 0 || accepts.Type[0] != "object" || accepts.AdditionalProperties != nil || len(accepts.Properties) == 0 || len(accepts.Properties) > mostMembers {
		return nil
	}
	for i := range accepts.Properties {
		fields = append(fields, memberOf(accepts, &accepts.Properties[i]))
	}
	return fields
}

// memberOf is the field of one member. An empty one is left out of the input.
func memberOf(root *schema.Schema, p *schema.Property) field {
	is := root.Part(p.Schema)
	f := field{Label: p.Name, Name: jsonMember + p.Name, Kind: "area", Hint: is.Words()}
	typ := ""
	if len(is.Type) > 0 {
		typ = is.Type[0]
	}
	switch {
	case typ == "string" && !slices.Contains(is.Type, "array"):
		f.Name, f.Kind = textMember+p.Name, "text"
	case typ == "boolean":
		f.Kind, f.Hint, f.Check = "check", "", "true"
	case typ == "integer" && len(is.Type) <= 2:
		f.Kind, f.Input, f.Step = "text", "number", "1"
	case typ == "number" && len(is.Type) <= 2:
		f.Kind, f.Input, f.Step = "text", "number", "any"
	default:
		f.Hint = "JSON: " + f.Hint + ". Empty: left out."
		f.Sample = string(is.Skeleton())
	}
	return f
}

// inputOf is the input of a form: one JSON, or its members.
func (v *visit) inputOf() (json.RawMessage, error) {
	if v.Form.Has("input") {
		input, err := v.json("input")
		if input == nil {
			input = json.RawMessage("null")
		}
		return input, err
	}
	return v.members()
}

// members is the object that the fields of a form make.
func (v *visit) members() (json.RawMessage, error) {
	members := map[string]json.RawMessage{}
	var errs []error
	for name := range v.Form {
		text := v.Form.Get(name)
		if member, ok := strings.CutPrefix(name, textMember); ok && text != "" {
			is, err := json.Marshal(text)
			members[member], errs = is, append(errs, err)
		}
		if member, ok := strings.CutPrefix(name, jsonMember); ok && strings.TrimSpace(text) != "" {
			is, err := v.json(name)
			members[member], errs = is, append(errs, err)
		}
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return json.Marshal(members)
}

// attributesOf are those of a form, one a line.
func (v *visit) attributesOf() (map[string]any, error) {
	all := map[string]any{}
	for line := range strings.Lines(v.Form.Get("attributes")) {
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		name, value, ok := strings.Cut(line, "=")
		if !ok {
			return nil, ofField("attributes", fmt.Errorf("%w: %.100q has no value: write it like city=Ulm", world.ErrInvalid, line))
		}
		name = strings.TrimSpace(name)
		if _, twice := all[name]; twice {
			return nil, ofField("attributes", fmt.Errorf("%w: %.100q is there twice", world.ErrInvalid, name))
		}
		if all[name] = value; json.Valid([]byte(value)) {
			all[name] = json.RawMessage(value)
		}
	}
	return all, nil
}

func (u *UI) startForm(v *visit) error {
	version := 0
	if text := v.URL.Query().Get("version"); text != "" {
		var err error
		if version, err = strconv.Atoi(text); err != nil || version < 1 || world.CheckVersion(version) != nil {
			return fmt.Errorf("%w: version is %.40q: want a number from 1", world.ErrInvalid, text)
		}
	}
	f, err := newStart(u, v, version, v.URL.Query().Get("as") == "json")
	if err != nil {
		return err
	}
	v.draw(http.StatusOK, "act", "Start "+f.Workflow, f)
	return nil
}

// options are those of a start, as its form has them.
func (v *visit) options() ([]stepwell.StartOption, int, error) {
	version, err := v.whole("version")
	priority, wrong := v.whole("priority")
	attributes, bad := v.attributesOf()
	err = errors.Join(err, wrong, bad)
	var delay time.Duration
	if text := v.Form.Get("delay"); text != "" {
		d, wrong := human.ParseSpan(text)
		if wrong != nil {
			err = errors.Join(err, ofField("delay", fmt.Errorf("%w: %.40q: %w", world.ErrInvalid, text, wrong)))
		}
		delay = d
	}
	also, unsent := v.alsoSend()
	return append(also, []stepwell.StartOption{
		stepwell.RunID(v.Form.Get("id")), stepwell.Key(v.Form.Get("key")), stepwell.Version(int(version)), stepwell.Priority(int(priority)), stepwell.Delay(delay),
		stepwell.Attributes(attributes),
	}...), int(version), errors.Join(err, unsent)
}

// alsoSend is the event that a start sends, where its form has one.
func (v *visit) alsoSend() ([]stepwell.StartOption, error) {
	event := strings.TrimSpace(v.Form.Get("event"))
	if event == "" {
		if strings.TrimSpace(v.Form.Get("payload")) != "" {
			return nil, ofField("event", fmt.Errorf("%w: there is a payload, but no event for it", world.ErrInvalid))
		}
		return nil, nil
	}
	payload, opts, err := v.sending()
	return []stepwell.StartOption{stepwell.AlsoSignal(event, payload, opts...)}, err
}

func (u *UI) start(v *visit) error {
	input, err := v.inputOf()
	opts, version, more := v.options()
	var run, did string
	if err = errors.Join(err, more); err == nil {
		created, startErr := u.app.Start(v.Context(), v.PathValue("workflow"), input, opts...)
		run, did, err = v.createdOnce(newborn(created, "start", startErr))
	}
	if mendable(err) {
		f, made := newStart(u, v, version, v.Form.Has("input"))
		if made != nil {
			return err
		}
		v.refill(f, err)
		v.deed.refused = err
		v.draw(u.host.Refused(v.Request, err).Status, "act", "Start "+f.Workflow, f)
		return nil
	}
	if err != nil {
		return err
	}
	v.deed.run = run
	v.redirect(runPath(run) + "?did=" + did)
	return nil
}
