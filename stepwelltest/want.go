package stepwelltest

// This file holds what a test can want of a run, and the story that it is told where the run is otherwise.

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/internal/timeline"
	"github.com/stepwell/stepwell/world"
)

// WantSteps fails the test unless the run has asked for exactly these steps and child runs so far, in this order. A name that was
// used twice is there twice.
func (r *Run[Out]) WantSteps(names ...string) {
	r.env.t.Helper()
	var got []string
	for _, e := range r.Journal().Entries {
		if e.Class == "run" && e.Kind != world.KindPatch {
			got = append(got, e.Name)
		}
	}
	if !slices.Equal(got, names) {
		r.env.t.Errorf("steps of run %s:\n got  %s\n want %s\n%s", r.ID(), list(got), list(names), r.env.life.story(r.ID()))
	}
}

// WantEvents fails the test unless the run's log has events of these types, in this order. There may be others between them.
func (r *Run[Out]) WantEvents(types ...world.EventType) {
	r.env.t.Helper()
	left := types
	for _, e := range r.Events() {
		if len(left) > 0 && e.Type == left[0] {
			left = left[1:]
		}
	}
	if len(left) > 0 {
		r.env.t.Errorf("run %s has no %s after %s\n%s", r.ID(), left[0], list(types[:len(types)-len(left)]), r.env.life.story(r.ID()))
	}
}

// WantWaiting fails the test unless the run waits, for what a kind of [stepwell.Why] says: stepwell.WhyEvent, stepwell.WhySleep…
func (r *Run[Out]) WantWaiting(kind stepwell.WhyKind) {
	r.env.t.Helper()
	if why := r.Why(); why.Kind != kind {
		r.env.t.Errorf("run %s: got %s, want %s\n%s", r.ID(), why.Kind, kind, r.env.life.story(r.ID()))
	}
}

// WantBlocked fails the test unless the run is blocked with a code, like world.CodeDiverged or world.CodePanic, and returns why. A
// run that is blocked and not wanted to be fails the test at its end; so does one that was ever blocked for a broken rule of workflows,
// though it went on since.
func (r *Run[Out]) WantBlocked(code string) *world.Block {
	r.env.t.Helper()
	r.env.expected[r.ID()] = true
	b := r.env.life.blocked()[r.ID()]
	if b == nil || b.Code != code {
		r.env.t.Fatalf("run %s is not blocked with %s\n%s", r.ID(), code, r.env.life.story(r.ID()))
	}
	return b
}

func list[S ~string](names []S) string {
	if len(names) == 0 {
		return "(none)"
	}
	var b strings.Builder
	for i, name := range names {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(string(name))
	}
	return b.String()
}

// story tells all of a run: why it does not move, and its log.
func (l *life) story(run string) string {
	var b strings.Builder
	l.call(func() {
		why, err := l.client.Why(l.ctx, run)
		if err != nil {
			fmt.Fprintf(&b, "run %s: %v\n", run, err)
			return
		}
		fmt.Fprintf(&b, "run %s of %s is %s: %s\n", run, why.Workflow, why.Status, why)
		names := timeline.Names{}
		for e, err := range l.client.Events(l.ctx, run, stepwell.EventFilter{}) {
			if err != nil {
				fmt.Fprintf(&b, "  %v\n", err)
				return
			}
			fmt.Fprintf(&b, "  %3d  %s  %-16s %s\n", e.Seq, e.Time.Format(time.DateTime), e.Type, line(&e, names))
		}
	})
	return b.String()
}

// line is what an event says beside its type.
func line(e *world.Event, names timeline.Names) string {
	var parts []string
	if name := names.Of(e); name != "" {
		parts = append(parts, name)
	}
	for _, d := range timeline.Details(e, lineWidth, func(t time.Time) string { return t.Format(time.DateTime) }) {
		parts = append(parts, d.Text)
	}
	if e.Error != nil {
		parts = append(parts, strings.TrimSpace(e.Error.Code+" "+e.Error.Message))
	}
	if len(e.Payload) > 0 {
		parts = append(parts, text(e.Payload))
	}
	return strings.Join(parts, "  ")
}

// lineWidth is how much of a value a story shows.
const lineWidth = 120
