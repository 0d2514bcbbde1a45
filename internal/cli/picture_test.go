package cli

// Pictures of what the fixture's file cannot hold: damaged logs, children, hooks, new segments.

import (
	"strings"
	"testing"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/internal/draw"
	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/journal"
)

func TestPicture(t *testing.T) {
	at := ago(time.Minute)
	run := stepwell.RunInfo{ID: "wrun_1", Workflow: "all", Version: 1, Status: world.Running, CreatedAt: at, Claims: 2, Parent: &world.Parent{Run: "wrun_0"}, Queue: &world.QueueRow{}}
	j := journal.New(run.ID, true)
	seq := int64(0)
	for _, e := range append(begins(at),
		event(world.StepCreated, "step_1", at, named(world.KindChild, "bill"), func(e *world.Event) { e.Peer = "wrun_2" }),
		event(world.StepCreated, "step_2", at, named(world.KindPatch, "new-price")),
		event(world.HookCreated, "hook_1", at, named("", "approval"), func(e *world.Event) { e.Token = "tok" }),
		event(world.HookReceived, "hook_1", at, carries("1")),
		event(world.HookConflict, "hook_2", at, named("", "other"), func(e *world.Event) { e.Token, e.Peer = "taken", "wrun_9" }),
		event(world.WaitCreated, "wait_1", at, named(world.KindEvent, "late"), func(e *world.Event) { e.Until = ago(time.Second) }),
		event(world.WaitCompleted, "wait_1", ago(time.Second), func(e *world.Event) { e.Outcome = world.OutcomeDue }),
		world.Event{Type: world.RunContinued, Time: ago(time.Second), Payload: []byte("2"), Next: &world.Continuation{}},
		event(world.WaitCreated, "wait_2", ago(time.Second), named(world.KindSleep, "nap"), func(e *world.Event) { e.Until = now.Add(time.Hour) }),
		event(world.WaitCreated, "wait_3", ago(time.Second), named(world.KindEvent, "it's odd"), func(e *world.Event) { e.Until = now.Add(time.Hour) }),
		event(world.HookCreated, "hook_3", ago(time.Second), named("", "survey"), func(e *world.Event) { e.Token = "roof" }),
		event(world.WaitCreated, "wait_4", ago(time.Second), named(world.KindEvent, journal.Heartbeats+"hook_3")),
		event(world.StepCreated, "step_3", ago(time.Second), named(world.KindClosure, "refund"), func(e *world.Event) { e.Path = world.UndoPath + "[0]" }),
		event(world.StepStarted, "step_3", ago(time.Second), try(1)),
		event(world.StepCompleted, "step_3", ago(time.Second), try(1)),
		event(world.StepCreated, "step_4", ago(time.Second), named(world.KindClosure, "unbook"), func(e *world.Event) { e.Path = world.UndoPath + "[1]" }),
		event(world.StepStarted, "step_4", ago(time.Second), try(1)),
	) {
		seq++
		e.Seq, e.Commit = seq, 1
		if seq == 1 {
			e.Type, e.Birth = world.RunCreated, &world.Birth{Workflow: "all", Version: 1, Origin: &world.Origin{Run: "wrun_8", Seq: 5}}
		}
		j.Add(e)
	}
	story := &stepwell.Story{
		Run: run, Journal: j, Damage: "corrupt event log at event 13",
		Why: stepwell.Why{Kind: stepwell.WhySleep, At: now, Step: "nap", ID: "wait_2", Until: now.Add(time.Hour), More: 1},
	}
	var b strings.Builder
	(&picture{draw.Run{Story: story, Style: style{Symbols: true}, Command: func(line string) string { return "stepwell " + line }}}).draw(&b)
	golden(t, "picture", b.String())
}
