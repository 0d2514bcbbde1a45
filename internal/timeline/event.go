package timeline

// This file words the events of a run's log: what each says beside its type, its error and its payload.

import (
	"fmt"
	"time"

	"github.com/stepwell/stepwell/internal/human"
	"github.com/stepwell/stepwell/world"
)

// Detail is one thing that an event says.
type Detail struct {
	Text string
	Run  string // the run that it names, else ""
}

// Tone is how news are meant: what shows them gives each a colour.
type Tone string

// The tones. What says nothing either way has none.
const (
	Good  Tone = "good"
	Bad   Tone = "bad"
	Warm  Tone = "warm" // it waits, or somebody stopped it
	Busy  Tone = "busy"
	Quiet Tone = "quiet"
)

// EventTone is the tone of an event.
func EventTone(t world.EventType) Tone {
	switch t {
	case world.RunCompleted, world.StepCompleted, world.WaitCompleted:
		return Good
	case world.RunFailed, world.StepFailed, world.HookConflict:
		return Bad
	case world.StepRetrying, world.RunPaused, world.CancelRequested:
		return Warm
	case world.RunCancelled:
		return Quiet
	case world.StepStarted, world.RunStarted:
		return Busy
	}
	return ""
}

// Details are the things that an event says, in the order in which people read them. Values have at most width
// characters,
// and times are as at writes them. The error and the payload are not among them.
func Details(e *world.Event, width int, at func(time.Time) string) (list []Detail) {
	say := func(format string, args ...any) {
		list = append(list, Detail{Text: human.Visible(fmt.Sprintf(format, args...))})
	}
	of := func(run string) { list[len(list)-1].Run = run }
	if b := e.Birth; b != nil {
		say("%s", human.Cut(b.Workflow, width))
		if b.Version > 0 {
			say("v%d", b.Version)
		}
		if g := b.Gather; g != nil && g.Key != "" {
			say("gathers %s", human.Cut(g.Key, width))
		}
		if o := b.Origin; o != nil {
			say("from event %d of run %s", o.Seq, o.Run)
			of(o.Run)
		}
	}
	if e.Kind != "" {
		say("%s", e.Kind)
	}
	if e.Attempt > 0 {
		say("attempt %d", e.Attempt)
	}
	if e.Outcome != "" {
		say("%s", e.Outcome)
	}
	if e.From > 0 {
		say("took event %d", e.From)
	}
	if e.Token != "" {
		say("token %s", human.Cut(e.Token, width))
	}
	if e.Peer != "" {
		say("run %s", e.Peer)
		of(e.Peer)
	}
	if len(e.Match) > 0 && e.Encrypted == "" {
		say("where %s", human.Fold(string(e.Match), width))
	}
	if e.Listen != nil {
		say(listens)
	}
	if e.Type == world.SignalReceived && e.ID != "" {
		say("published, for the wait %s", e.ID)
	}
	if !e.Until.IsZero() {
		say("until %s", at(e.Until))
	}
	if !e.RetryAt.IsZero() {
		say("again at %s", at(e.RetryAt))
	}
	if e.Version > 0 {
		say("version %d", e.Version)
	}
	if e.By != "" {
		say("by %s", human.Cut(e.By, width))
	}
	if e.Reason != "" {
		say("%s", human.Cut(e.Reason, width))
	}
	if e.Encrypted != "" {
		say("encrypted with the key %s", e.Encrypted)
	}
	return list
}

// Names are what the steps, waits and hooks of a log are called, by ID, as far as it was read.
type Names map[string]string

// Of is the name of what an event is about: its own, or that of what began earlier; "" where it is not known.
func (n Names) Of(e *world.Event) string {
	if e.Name == "" {
		return n[e.ID]
	}
	name := human.Visible(e.Name)
	if e.Creation() {
		name = human.Visible(e.Key(0).String())
		n[e.ID] = name
	}
	return name
}
