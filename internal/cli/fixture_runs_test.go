package cli

// The runs of the fixture, event by event.

import (
	"time"

	"github.com/stepwell/stepwell/world"
)

func (f *filler) fill() {
	month := 30 * 24 * time.Hour
	user := world.Birth{Workflow: "onboard-user", Version: 1, Key: "user-42", Priority: 1, Retention: month}
	plain := world.Birth{Workflow: "order", Version: 2, Priority: 1, Retention: month}
	f.waiting(user)
	f.failed(plain)
	f.blocked(plain)
	f.retrying(plain)
	f.completed(plain)
	unknown := plain
	unknown.Workflow, unknown.Version = "refund", 3
	f.run(strangerRun, unknown, `{}`, &world.Release{WakeAt: f.ago(20 * time.Second)}, begins(f.ago(20*time.Second)))
	f.run(workingRun, plain, `{"items":[]}`, nil, append(begins(f.ago(5*time.Second)),
		event(world.StepCreated, "step_1", f.ago(5*time.Second), named(world.KindClosure, "charge-card")),
		event(world.StepStarted, "step_1", f.ago(5*time.Second), try(1))))
	late := plain
	late.NotBefore = f.now.Add(3 * time.Hour)
	c := &world.Commit{ID: [16]byte{200}, Run: delayedRun, First: 1, Events: []world.Event{
		{Seq: 1, Type: world.RunCreated, Time: f.ago(2 * time.Second), Birth: &late, Payload: []byte(`{"items":["gift"]}`)}}}
	if _, err := f.w.Commit(f.t.Context(), c); err != nil {
		f.t.Fatal(err)
	}
	f.paused(plain)
	f.hooked(plain)
	f.parent(plain)
	f.sleeping(plain)
	f.looping(plain)
}

func (f *filler) paused(birth world.Birth) {
	at := f.ago(60 * time.Hour)
	f.run(pausedRun, birth, `{}`, &world.Release{WakeAt: f.now.Add(time.Hour), Waiting: `sleep "nap"`}, append(begins(at),
		event(world.WaitCreated, "wait_1", at, named(world.KindSleep, "nap"), func(e *world.Event) { e.Until = f.now.Add(time.Hour) })))
	d := &world.Delivery{Run: pausedRun, ID: "p1", Act: true, Events: []world.Event{{Type: world.RunPaused, By: "ann@laptop", Reason: "bank is closed"}}}
	if _, err := f.w.Deliver(f.t.Context(), d); err != nil {
		f.t.Fatal(err)
	}
}

func (f *filler) hooked(birth world.Birth) {
	at := f.ago(61 * time.Hour)
	hook := func(id, token, metadata string, n int) world.Event {
		return event(world.HookCreated, id, at, named("", "hook"), func(e *world.Event) {
			e.Token, e.Chosen, e.Occurrence = token, true, n
			if metadata != "" {
				e.Payload = []byte(metadata)
			}
		})
	}
	f.run(hookRun, birth, `{}`, &world.Release{Waiting: `hook "hook"`}, append(begins(at),
		hook("hook_1", "order-7", `{"order":7,"asks":"may we ship?"}`, 0), hook("hook_2", "order 8's", `{"$heartbeat":"1h0m0s"}`, 1),
		event(world.HookReceived, "hook_1", at.Add(time.Minute), carries(`{"approved":false}`))))
}

func (f *filler) parent(birth world.Birth) {
	at := f.ago(62 * time.Hour)
	f.run(parentRun, birth, `{}`, &world.Release{Waiting: "run " + retryingRun}, append(begins(at),
		event(world.StepCreated, "step_1", at, named(world.KindChild, "order"), func(e *world.Event) { e.Peer = completedRun }),
		event(world.StepCompleted, "step_1", at.Add(time.Hour), carries(`"shipped"`)),
		event(world.StepCreated, "step_2", at.Add(time.Hour), named(world.KindChild, "order"), func(e *world.Event) { e.Peer, e.Occurrence = retryingRun, 1 }),
		event(world.StepCreated, "step_3", at.Add(time.Hour), named(world.KindAwait, blockedRun), func(e *world.Event) { e.Peer = blockedRun })))
}

func (f *filler) sleeping(birth world.Birth) {
	at := f.ago(63 * time.Hour)
	f.run(sleepingRun, birth, `{}`, &world.Release{WakeAt: f.now.Add(9 * time.Hour), Waiting: `sleep "nap"`}, append(begins(at),
		event(world.StepCreated, "step_1", at, named(world.KindClosure, "boom")),
		event(world.StepStarted, "step_1", at, try(1)), event(world.StepStarted, "step_1", at, try(2)), event(world.StepStarted, "step_1", at, try(3)),
		event(world.StepFailed, "step_1", at, try(3), func(e *world.Event) {
			e.Error = &world.Error{Message: "the step ended its process 7 times", Code: world.CodeCrashLoop, Permanent: true}
		}),
		event(world.WaitCreated, "wait_1", at, named(world.KindSleep, "nap"), func(e *world.Event) { e.Until = f.now.Add(9 * time.Hour) }),
		event(world.WaitCreated, "wait_2", at, named(world.KindCondition, "await"), func(e *world.Event) { e.Until = f.now.Add(10 * time.Hour) })))
}

func (f *filler) looping(birth world.Birth) {
	f.run(loopingRun, birth, `{}`, &world.Release{WakeAt: f.now.Add(30 * time.Second), Blocked: &world.Block{
		Code: world.CodeCrashLoop, Since: f.ago(time.Minute), Tries: 2, Build: "4f1c2aa",
		Message: "its code ended its process 4 times in a row before anything could be recorded",
	}}, begins(f.ago(64*time.Hour)))
}

// waiting is the run that the documentation shows.
func (f *filler) waiting(birth world.Birth) {
	at := f.ago(52 * time.Hour)
	after := func(d time.Duration) time.Time { return at.Add(d) }
	refused := "mail: connection refused"
	f.run(waitingRun, birth, `{"email":"a@b.c"}`,
		&world.Release{WakeAt: f.now.Add(115 * time.Hour), Waiting: `event "verify"`},
		append(begins(at),
			event(world.StepCreated, "step_1", at, named(world.KindClosure, "create-user")), event(world.StepStarted, "step_1", at, try(1))),
		[]world.Event{event(world.StepCompleted, "step_1", after(38*time.Millisecond), try(1), carries(`"usr_42"`)),
			event(world.WaitCreated, "wait_1", after(38*time.Millisecond), named(world.KindSleep, "welcome-delay"),
				func(e *world.Event) { e.Until = after(38*time.Millisecond + 5*time.Minute) })},
		[]world.Event{event(world.WaitCompleted, "wait_1", after(301*time.Second), func(e *world.Event) { e.Outcome = world.OutcomeDue }),
			event(world.StepCreated, "step_2", after(301*time.Second), named(world.KindClosure, "send-welcome")), event(world.StepStarted, "step_2", after(301*time.Second), try(1))},
		[]world.Event{event(world.StepRetrying, "step_2", after(302*time.Second), try(1), fails(refused, after(304*time.Second))),
			event(world.StepStarted, "step_2", after(304*time.Second), try(2)),
			event(world.StepRetrying, "step_2", after(305*time.Second), try(2), fails(refused, after(309*time.Second))),
			event(world.StepStarted, "step_2", after(309*time.Second), try(3))},
		[]world.Event{event(world.StepCompleted, "step_2", after(309*time.Second+212*time.Millisecond), try(3), carries(`{}`)),
			event(world.WaitCreated, "wait_2", after(time.Hour), named(world.KindEvent, "verify"),
				func(e *world.Event) { e.Match, e.Until = []byte(`{"userId":"42"}`), f.now.Add(115*time.Hour) }),
			event(world.SignalReceived, "", after(2*time.Hour), func(e *world.Event) { e.Name, e.Payload = "note", []byte(`"it's early"`) })})
}

func (f *filler) failed(birth world.Birth) {
	at := f.ago(3 * time.Hour)
	f.run(failedRun, birth, `{"items":["cup"]}`, nil,
		append(begins(at),
			event(world.StepCreated, "step_1", at, named(world.KindTask, "resize"), func(e *world.Event) { e.Path = "map[0][0]" }),
			event(world.StepStarted, "step_1", at, try(1)),
			event(world.StepCreated, "step_2", at, named(world.KindClosure, "notify"))),
		[]world.Event{event(world.StepFailed, "step_1", at.Add(90*time.Second), try(1), fails("disk full", time.Time{})),
			{Type: world.RunFailed, Time: at.Add(91 * time.Second), Error: &world.Error{Message: `step "resize": disk full`, Where: "order.go:12"}}})
}

func (f *filler) blocked(birth world.Birth) {
	f.run(blockedRun, birth, `{}`,
		&world.Release{WakeAt: f.now.Add(30 * time.Second), Blocked: &world.Block{
			Code: world.CodeDiverged, Since: f.ago(time.Minute), Tries: 5, Seq: 7, Message: "the code no longer matches its log (event 7)\n" +
				"  the log has    step \"send-welcome\" (2nd)   recorded by build 4f1c2aa\n  the code asks  step \"send-mail\"   onboard.go:58",
		}}, begins(f.ago(2*time.Minute)))
}

func (f *filler) retrying(birth world.Birth) {
	at := f.ago(time.Minute)
	f.run(retryingRun, birth, `{}`, &world.Release{WakeAt: f.now.Add(40 * time.Second), Waiting: `retry of "charge-card"`},
		append(begins(at),
			event(world.StepCreated, "step_1", at, named(world.KindClosure, "charge-card")),
			event(world.StepStarted, "step_1", at, try(1)),
			event(world.StepStarted, "step_1", at.Add(time.Second), try(2)),
			event(world.StepRetrying, "step_1", at.Add(2*time.Second), try(2), fails("card: 503\nService Unavailable", f.now.Add(40*time.Second)))))
}

// completed has many steps, a long output and a payload that would like to steer the terminal.
func (f *filler) completed(birth world.Birth) {
	at := f.ago(40 * time.Second)
	events := begins(at)
	for i := range 50 {
		id := "step_" + string(rune('a'+i/26)) + string(rune('a'+i%26))
		events = append(events,
			event(world.StepCreated, id, at, named(world.KindClosure, "poll"), func(e *world.Event) { e.Occurrence = i }),
			event(world.StepStarted, id, at, try(1)), event(world.StepCompleted, id, at.Add(time.Duration(i)*time.Millisecond), try(1), carries("1")))
		at = at.Add(time.Duration(i) * time.Millisecond)
	}
	out := `{"text":"` + "\u202e"
	for range 40 {
		out += "long "
	}
	events = append(events, world.Event{Type: world.RunCompleted, Time: at, Payload: []byte(out + `"}`)})
	f.run(completedRun, birth, `{}`, nil, events)
}
