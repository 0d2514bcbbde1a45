package stepwell

// Tables of runs that do not move, and what is said of them. No clock is asked.

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/journal"
)

var whyNow = time.Date(2026, 11, 22, 14, 12, 0, 0, time.UTC)

func ago(d time.Duration) time.Time { return whyNow.Add(-d) }

// whyCase is a run in the making: its row, its log and the workers that are there.
type whyCase struct {
	row     world.Run
	events  []world.Event
	workers []world.WorkerRow
	tasks   map[string]string
}

// waitingRun has started two hours ago, hibernates, and has a worker that knows it.
func waitingRun(events ...world.Event) *whyCase {
	c := &whyCase{
		row: world.Run{ID: "wrun_1", Workflow: "onboard", Version: 2, Status: world.Running, CreatedAt: ago(2 * time.Hour), Queue: &world.QueueRow{}},
		workers: []world.WorkerRow{{
			Worker: world.Worker{ID: "wrkr_1", Name: "host:1", Classes: []world.Class{{Workflow: "onboard", Version: 2}}, Steps: []string{"resize"}},
			Until:  whyNow.Add(5 * time.Second),
		}},
	}
	c.events = append([]world.Event{
		{Type: world.RunCreated, Time: ago(2 * time.Hour), Birth: &world.Birth{Workflow: "onboard", Version: 2}},
		{Type: world.RunStarted, Time: ago(2 * time.Hour)},
	}, events...)
	return c
}

func (c *whyCase) with(f func(c *whyCase)) *whyCase { f(c); return c }

// queue changes the run's place in the queue.
func (c *whyCase) queue(f func(q *world.QueueRow)) *whyCase { f(c.row.Queue); return c }

func (c *whyCase) answer(log bool) Why {
	var j *journal.Journal
	if log {
		j = journal.New(c.row.ID, false)
		for i, e := range c.events {
			e.Seq = int64(i + 1)
			j.Add(e)
		}
	}
	info := infoOf(c.row)
	return whyOf(&info, j, c.tasks, c.workers, whyNow)
}

func stepEvents(kind world.Kind, name string, more ...world.Event) []world.Event {
	all := []world.Event{{Type: world.StepCreated, ID: "step_" + name, Kind: kind, Name: name, Time: ago(time.Hour)}}
	for _, e := range more {
		e.ID = "step_" + name
		all = append(all, e)
	}
	return all
}

func started(attempt int, d time.Duration) world.Event {
	return world.Event{Type: world.StepStarted, Attempt: attempt, Time: ago(d)}
}

func joined(d time.Duration) func(*whyCase) {
	return func(c *whyCase) { c.workers[0].JoinedAt = ago(d) }
}

func noWorkers(c *whyCase) { c.workers = nil }

// atApp says that the run's code is an app's of Workflow DevKit.
func atApp(c *whyCase) { c.row.Workflow = "wdk.order" }

func owned(q *world.QueueRow) { q.Owner, q.OwnerName = "wrkr_1", "host:1" }
func dueAt(d time.Duration) func(*world.QueueRow) {
	return func(q *world.QueueRow) { q.WakeAt = whyNow.Add(d) }
}

var verifyWait = world.Event{
	Type: world.WaitCreated, ID: "wait_1", Kind: world.KindEvent, Name: "verify", Time: ago(time.Hour),
	Match: json.RawMessage(`{"userId":"42"}`), Until: whyNow.Add(115 * time.Hour),
}

var listeningWait = world.Event{
	Type: world.WaitCreated, ID: "wait_7", Kind: world.KindEvent, Name: "order.paid", Time: ago(time.Minute),
	Match: json.RawMessage(`{"order":7}`), Until: whyNow.Add(time.Hour), Listen: &world.Listen{Pattern: "order.paid"},
}

func TestWhy(t *testing.T) {
	failed := &world.Error{Message: "mail: connection refused", Where: "mail.go:41"}
	retrying := world.Event{Type: world.StepRetrying, Attempt: 2, Time: ago(time.Second), RetryAt: whyNow.Add(30 * time.Second), Error: failed}
	for name, test := range map[string]struct {
		c    *whyCase
		kind WhyKind
		text string
	}{
		"over and damaged": {waitingRun().with(func(c *whyCase) {
			c.row.Status, c.row.Queue, c.row.EndedAt, c.row.Damage = world.Completed, nil, ago(time.Hour), "its end: the checksum does not fit"
		}), WhyOver, "completed at 13:12:00 (1 h ago); its stored data is damaged: its end: the checksum does not fit"},
		"damaged, and nobody has seen it": {waitingRun(verifyWait).with(func(c *whyCase) { c.row.Damage = "its row: the checksum does not fit" }), WhyBlocked,
			"blocked (CORRUPTED_EVENT_LOG): its row: the checksum does not fit; no worker has tried it"},
		"damaged and blocked": {waitingRun(verifyWait).with(func(c *whyCase) { c.row.Damage = "its row: the checksum does not fit" }).queue(func(q *world.QueueRow) {
			q.Blocked = &world.Block{Code: world.CodeCorrupt, Message: "its row is damaged", Tries: 3}
		}), WhyBlocked, "blocked (CORRUPTED_EVENT_LOG): its row is damaged; tried 3 times"},
		"paused by a hand in its row": {waitingRun(verifyWait).queue(func(q *world.QueueRow) { q.Paused = true }), WhyPaused,
			"paused: its row says so but its log does not; `stepwell runs resume` repairs this"},
		"event": {waitingRun(verifyWait), WhyEvent,
			`waiting for event "verify" where {"userId":"42"} until Fri 27 Nov 09:12 (in 4 d 19 h)`},
		"event with a quote in its name": {waitingRun(world.Event{Type: world.WaitCreated, ID: "wait_1", Kind: world.KindEvent, Name: `say "hi" \o/`, Time: ago(time.Hour)}), WhyEvent,
			`waiting for event "say \"hi\" \\o/"`},
		"event that is published, as its row says": {waitingRun(listeningWait, verifyWait).queue(func(q *world.QueueRow) { q.Waiting = `event "order.paid" (also when it is published) and 1 more` }), WhyEvent,
			`waiting for event "order.paid" where {"order":7} until 15:12:00 (in 1 h), also when it is published; also open: event "verify" until Fri 27 Nov 09:12 (in 4 d 19 h)`},
		"event of which a wait that nobody read took a payload": {waitingRun(verifyWait).queue(func(q *world.QueueRow) { q.Waiting = `event "verify" (payloads taken by waits that nobody read: 1)` }), WhyEvent,
			`waiting for event "verify" where {"userId":"42"} until Fri 27 Nov 09:12 (in 4 d 19 h); ` +
				`a payload of event "verify" was taken by a wait that nobody read: see docs/rules.md#8-wait-for-what-matters`},
		"event of which such waits took payloads, and one was set aside": {waitingRun(listeningWait).queue(func(q *world.QueueRow) {
			q.Waiting = `event "order.paid" (also when it is published) (a payload was set aside) (payloads taken by waits that nobody read: 12) and 1 more`
		}), WhyEvent, `waiting for event "order.paid" where {"order":7} until 15:12:00 (in 1 h), also when it is published; ` +
			`12 payloads of event "order.paid" were taken by waits that nobody read: see docs/rules.md#8-wait-for-what-matters`},
		"event that is published, beside another": {waitingRun(verifyWait, listeningWait), WhyEvent,
			`waiting for event "verify" where {"userId":"42"} until Fri 27 Nov 09:12 (in 4 d 19 h); also open: event "order.paid" until 15:12:00 (in 1 h) (also when it is published)`},
		"event without deadline": {waitingRun(world.Event{Type: world.WaitCreated, ID: "wait_1", Kind: world.KindEvent, Name: "verify", Time: ago(time.Hour)}), WhyEvent,
			`waiting for event "verify"`},
		"sleep": {waitingRun(world.Event{Type: world.WaitCreated, ID: "wait_1", Kind: world.KindSleep, Name: "nap", Occurrence: 1, Until: whyNow.Add(time.Minute)}).queue(dueAt(time.Minute)), WhySleep,
			`sleeping in "nap[1]" until 14:13:00 (in 1 m)`},
		"condition": {waitingRun(world.Event{Type: world.WaitCreated, ID: "wait_1", Kind: world.KindCondition, Name: "await"}), WhyCondition,
			`waiting for a condition of its code, "await"`},
		"two things": {waitingRun(verifyWait, world.Event{Type: world.WaitCreated, ID: "wait_2", Kind: world.KindSleep, Name: "nap"}), WhyEvent,
			`waiting for event "verify" where {"userId":"42"} until Fri 27 Nov 09:12 (in 4 d 19 h); also open: sleep "nap"`},
		"hook beside a sleep": {waitingRun(world.Event{Type: world.HookCreated, ID: "hook_1", Name: "h", Token: "tok"},
			world.Event{Type: world.WaitCreated, ID: "wait_2", Kind: world.KindSleep, Name: "nap"}), WhySleep,
			`sleeping in "nap"; also open: hook "h" (token tok)`},
		"hook": {waitingRun(world.Event{Type: world.HookCreated, ID: "hook_1", Name: "approval", Token: "tok"}), WhyHook,
			`waiting for a payload at hook "approval" (token tok)`},
		"child": {waitingRun(stepEvents(world.KindChild, "bill")...).with(func(c *whyCase) { c.events[2].Peer = "wrun_2" }), WhyChild,
			`waiting for child run wrun_2 (bill) to end since 13:12:00 (1 h ago)`},
		"another run": {waitingRun(stepEvents(world.KindAwait, "wrun_3")...).with(func(c *whyCase) { c.events[2].Peer = "wrun_3" }), WhyRun,
			`waiting for run wrun_3 to end since 13:12:00 (1 h ago)`},
		"hook since": {waitingRun(world.Event{Type: world.HookCreated, ID: "hook_1", Name: "approval", Token: "tok", Time: ago(time.Hour)}), WhyHook,
			`waiting for a payload at hook "approval" (token tok) since 13:12:00 (1 h ago)`},
		"select": {waitingRun(world.Event{Type: world.HookCreated, ID: "hook_1", Name: "approval", Token: "tok", Time: ago(time.Hour)}, verifyWait,
			world.Event{Type: world.WaitCreated, ID: "wait_2", Kind: world.KindSleep, Name: "nap", Until: whyNow.Add(time.Minute)},
			world.Event{Type: world.StepCreated, ID: "step_1", Kind: world.KindChild, Name: "bill", Peer: "wrun_2"}), WhyEvent,
			`waiting for event "verify" where {"userId":"42"} until Fri 27 Nov 09:12 (in 4 d 19 h); ` +
				`also open: hook "approval" (token tok), sleep "nap" until 14:13:00 (in 1 m) and 1 more`},
		"condition with a timeout": {waitingRun(world.Event{Type: world.WaitCreated, ID: "wait_1", Kind: world.KindCondition, Name: "await", Until: whyNow.Add(time.Minute)}), WhyCondition,
			`waiting for a condition of its code, "await" until 14:13:00 (in 1 m)`},
		"condition that nothing can fulfil": {waitingRun(), WhyCondition,
			`waiting for a condition of its code, but nothing is open that could make it true`},
		"its turn in quarantine": {waitingRun(stepEvents(world.KindClosure, "boom", started(1, time.Hour), started(2, time.Minute))...).queue(owned).with(joined(30 * time.Second)), WhySuspect,
			`step "boom" waits for its turn: its process died twice, so it runs alone, when no other quarantined step does`},
		"one in quarantine that runs": {waitingRun(stepEvents(world.KindClosure, "boom", started(1, time.Hour), started(2, time.Minute), started(3, 5*time.Second))...).queue(owned).with(joined(30 * time.Second)), WhyWorking,
			`worker host:1 is in step "boom" since 14:11:55 (5 s ago), attempt 3, alone, because its process died twice`},
		"died once, and not started again yet": {waitingRun(stepEvents(world.KindClosure, "boom", started(1, time.Hour))...).queue(owned).with(joined(30 * time.Second)), WhyWorking,
			`worker host:1 works on it`},
		"abandoned is not death": {waitingRun(stepEvents(world.KindClosure, "send", started(1, time.Hour),
			world.Event{Type: world.StepRetrying, Attempt: 1, Time: ago(time.Hour), Error: &world.Error{Message: "drained", Code: world.CodeAbandoned}},
			started(2, time.Minute))...).queue(owned).with(joined(30 * time.Second)), WhyWorking,
			`worker host:1 works on it`},
		"crash loop, its turn to come": {waitingRun().queue(func(q *world.QueueRow) {
			q.Blocked = &world.Block{Code: world.CodeCrashLoop, Message: "its code ended its process 3 times in a row", Since: ago(time.Minute)}
		}), WhyBlocked,
			`blocked (CRASH_LOOP) since 14:11:00 (1 m ago): its code ended its process 3 times in a row; it will be tried once more, alone, when its turn comes; nothing is lost`},
		"crash loop": {waitingRun().queue(dueAt(4 * time.Second)).queue(func(q *world.QueueRow) {
			q.Blocked = &world.Block{Code: world.CodeCrashLoop, Message: "its code ended its process 4 times in a row", Since: ago(time.Minute), Tries: 1}
		}), WhyBlocked,
			`blocked (CRASH_LOOP) since 14:11:00 (1 m ago): its code ended its process 4 times in a row; tried once, again at 14:12:04 (in 4 s); deploy a build that does not crash, or cancel it; nothing is lost`},
		"paused, a body in flight": {waitingRun(append(stepEvents(world.KindClosure, "send", started(1, 5*time.Second)),
			world.Event{Type: world.RunPaused, By: "ann", Reason: "audit", Time: ago(time.Second)})...).queue(owned), WhyPaused,
			`paused by ann at 14:11:59 (1 s ago): audit; step "send" still runs and may finish`},
		"retry": {waitingRun(stepEvents(world.KindClosure, "send", started(2, time.Minute), retrying)...).queue(dueAt(30 * time.Second)), WhyRetry,
			`waiting to try step "send" again at 14:12:30 (in 30 s): attempt 2 ended with mail: connection refused (mail.go:41)`},
		"retry in the session": {waitingRun(stepEvents(world.KindClosure, "send", started(2, time.Minute), retrying)...).queue(owned), WhyRetry,
			`waiting to try step "send" again at 14:12:30 (in 30 s): attempt 2 ended with mail: connection refused (mail.go:41)`},
		"registered step": {waitingRun(stepEvents(world.KindTask, "resize")...), WhyTask,
			`waiting for registered step "resize", queued since 13:12:00 (1 h ago)`},
		"registered step that runs": {waitingRun(stepEvents(world.KindTask, "resize", started(1, time.Minute), started(2, 5*time.Second))...).with(func(c *whyCase) {
			c.tasks = map[string]string{"step_resize": "wrkr_1"}
		}), WhyTask,
			`waiting for registered step "resize", which runs on worker host:1 since 14:11:55 (5 s ago), attempt 2`},
		"registered step to be tried again": {waitingRun(stepEvents(world.KindTask, "resize", started(2, time.Minute), retrying)...), WhyRetry,
			`waiting to try step "resize" again at 14:12:30 (in 30 s): attempt 2 ended with mail: connection refused (mail.go:41)`},
		"nobody knows the step": {waitingRun(append([]world.Event{verifyWait}, stepEvents(world.KindTask, "enlarge")...)...), WhyNoWorker,
			`ready since 13:12:00 (1 h ago), but no worker has step "enlarge": deploy one that does, or start its step worker if it is remote; also open: event "verify" until Fri 27 Nov 09:12 (in 4 d 19 h)`},
		"nobody knows the version": {waitingRun().queue(dueAt(-3 * time.Second)).with(func(c *whyCase) { c.row.Version = 3 }), WhyNoWorker,
			`ready since 14:11:57 (3 s ago), but no worker has workflow "onboard" version 3 (there is version 2): deploy one that does`},
		"nobody there": {waitingRun().queue(dueAt(-3 * time.Second)).with(noWorkers), WhyNoWorker,
			`ready since 14:11:57 (3 s ago), but no worker is running: start one that has workflow "onboard" version 2`},
		"a dead worker is nobody": {waitingRun().queue(dueAt(-3 * time.Second)).with(func(c *whyCase) { c.workers[0].Until = whyNow }), WhyNoWorker,
			`ready since 14:11:57 (3 s ago), but no worker is running: start one that has workflow "onboard" version 2`},
		"due": {waitingRun(verifyWait).queue(dueAt(-3 * time.Second)), WhyQueued,
			`ready since 14:11:57 (3 s ago): the next worker with a free slot takes it`},
		"mail": {waitingRun(verifyWait).queue(func(q *world.QueueRow) { q.Mail = 2 }), WhyQueued,
			`ready: the next worker with a free slot takes it; 2 deliveries wait in its inbox`},
		"new": {waitingRun().with(func(c *whyCase) { c.row.Status, c.events = world.Pending, c.events[:1] }), WhyQueued,
			`ready since 12:12:00 (2 h ago): the next worker with a free slot takes it`},
		"delayed": {waitingRun().queue(dueAt(26 * time.Hour)).with(func(c *whyCase) { c.row.Status, c.events = world.Pending, c.events[:1] }), WhyDelayed,
			`pending until Mon 23 Nov 16:12 (in 1 d 2 h): its start was delayed`},
		"held": {waitingRun().queue(func(q *world.QueueRow) { q.Held, q.WakeAt = true, whyNow.Add(time.Hour) }).with(func(c *whyCase) {
			c.row.Status, c.events = world.Pending, c.events[:1]
		}), WhyHeld, `pending: its workflow is held; it begins when the workflow is released`},
		"a fork that is held": {waitingRun().queue(func(q *world.QueueRow) { q.Held, q.WakeAt = true, whyNow }), WhyHeld,
			`its workflow is held; it begins when the workflow is released`},
		"in line": {waitingRun().queue(func(q *world.QueueRow) { q.Limit, q.LimitKey, q.WakeAt = "bank", "de", ago(time.Minute) }), WhyLimit,
			`in line for limit "bank", key "de"`},
		"in line, without keys": {waitingRun().queue(func(q *world.QueueRow) { q.Limit = "bank" }).with(noWorkers), WhyLimit, `in line for limit "bank"`},
		"paused in line": {waitingRun().queue(func(q *world.QueueRow) { q.Limit, q.Held, q.Paused = "bank", true, true }), WhyPaused,
			"paused: its row says so but its log does not; `stepwell runs resume` repairs this"},
		"in a step": {waitingRun(stepEvents(world.KindClosure, "send", started(1, time.Minute), started(2, 5*time.Second))...).queue(owned), WhyWorking,
			`worker host:1 is in step "send" since 14:11:55 (5 s ago), attempt 2`},
		"between steps": {waitingRun(stepEvents(world.KindClosure, "send", started(1, 5*time.Second), world.Event{Type: world.StepCompleted, Time: ago(4 * time.Second)})...).queue(owned), WhyWorking, `worker host:1 works on it`},
		"an app of Workflow DevKit sleeps": {waitingRun(world.Event{Type: world.WaitCreated, ID: "wait_1", Kind: world.KindSleep, Name: "sleep",
			Time: ago(time.Minute), Until: whyNow.Add(time.Hour)}).queue(owned).with(atApp), WhySleep, `sleeping in "sleep" until 15:12:00 (in 1 h)`},
		"its step runs": {waitingRun(stepEvents(world.KindTask, "charge", started(1, time.Minute))...).queue(owned).with(atApp), WhyWorking,
			`worker host:1 is in step "charge" since 14:11:00 (1 m ago)`},
		"its step has not begun": {waitingRun(stepEvents(world.KindTask, "charge")...).queue(owned).with(atApp), WhyWaiting,
			`waiting for an app of Workflow DevKit, to take its message from the queue of its deployment`},
		"nothing of it is open": {waitingRun().queue(owned).with(atApp), WhyWaiting,
			`waiting for an app of Workflow DevKit, to take its message from the queue of its deployment`},
		"held and not worked on": {waitingRun().queue(owned), WhyWorking,
			`worker host:1 has it, and has written nothing since 12:12:00 (2 h ago): it is computing, or does not know that it has the run and hands it back within a few heartbeats`},
		"worker died": {waitingRun(stepEvents(world.KindClosure, "send", started(1, time.Minute))...).queue(owned).with(noWorkers), WhyWorkerLost,
			`its worker host:1 has not been heard of; it was in step "send" since 14:11:00 (1 m ago); no worker is running: start one that has workflow "onboard", and it continues from there`},
		"paused": {waitingRun(verifyWait, world.Event{Type: world.RunPaused, By: "ann", Reason: "audit", Time: ago(time.Hour)}).queue(func(q *world.QueueRow) { q.Paused = true }), WhyPaused,
			`paused by ann at 13:12:00 (1 h ago): audit`},
		"blocked": {waitingRun().queue(dueAt(4 * time.Second)).queue(func(q *world.QueueRow) {
			q.Blocked = &world.Block{Code: world.CodeDiverged, Message: "the code no longer matches its log (event 7)\n  the log has", Since: ago(time.Minute), Tries: 3}
		}), WhyBlocked,
			`blocked (DIVERGED) since 14:11:00 (1 m ago): the code no longer matches its log (event 7); tried 3 times, again at 14:12:04 (in 4 s); nothing is lost`},
		"blocked, and nobody there": {waitingRun().queue(dueAt(-time.Second)).with(noWorkers).queue(func(q *world.QueueRow) {
			q.Blocked = &world.Block{Code: world.CodePanic, Message: "panic: x", Since: ago(time.Minute), Tries: 1}
		}), WhyBlocked,
			`blocked (PANIC) since 14:11:00 (1 m ago): panic: x; tried once, again at 14:11:59 (1 s ago), but no worker is running; nothing is lost`},
		"blocked by what a step worker gave": {waitingRun(stepEvents(world.KindTask, "resize", started(1, time.Hour),
			world.Event{Type: world.StepCompleted, By: "wrkr_1 (key py)", Time: ago(time.Minute)})...).queue(dueAt(4 * time.Second)).queue(func(q *world.QueueRow) {
			q.Blocked = &world.Block{Code: world.CodeDecode, Message: "it does not fit", Step: "step_resize", Since: ago(time.Minute), Tries: 3}
		}), WhyBlocked,
			`blocked (DECODE) since 14:11:00 (1 m ago): it does not fit; tried 3 times, again at 14:12:04 (in 4 s); step worker wrkr_1 (key py) gave this result: ` +
				`deploy Go code whose type fits it, or fork the run with another result; nothing is lost`},
		"blocked by a result of its own": {waitingRun(stepEvents(world.KindClosure, "send", started(1, time.Hour),
			world.Event{Type: world.StepCompleted, Time: ago(time.Minute)})...).queue(dueAt(4 * time.Second)).queue(func(q *world.QueueRow) {
			q.Blocked = &world.Block{Code: world.CodeDecode, Message: "it does not fit", Step: "step_send", Since: ago(time.Minute), Tries: 3}
		}), WhyBlocked,
			`blocked (DECODE) since 14:11:00 (1 m ago): it does not fit; tried 3 times, again at 14:12:04 (in 4 s); nothing is lost`},
		"cancel": {waitingRun(world.Event{Type: world.CancelRequested, By: "ann", Reason: "typo", Time: ago(time.Second)}).queue(owned), WhyCancelling,
			`cancel requested by ann at 14:11:59 (1 s ago): typo; it cleans up`},
		"cancel that a body does not heed": {waitingRun(append(stepEvents(world.KindClosure, "send", started(1, time.Minute)),
			world.Event{Type: world.CancelRequested, By: "ann", Time: ago(9 * time.Second)})...).queue(owned), WhyCancelling,
			`cancel requested by ann at 14:11:51 (9 s ago); step "send" was told to stop and has not returned`},
		"completed": {waitingRun().with(end(world.Completed, nil)), WhyOver, `completed at 14:02:00 (10 m ago)`},
		"failed":    {waitingRun().with(end(world.Failed, failed)), WhyOver, `failed at 14:02:00 (10 m ago): mail: connection refused (mail.go:41)`},
		"failed for want of a worker": {waitingRun(world.Event{Type: world.CancelRequested, By: "no worker", Reason: "mail: connection refused"}).with(end(world.Failed, failed)), WhyOver,
			`failed at 14:02:00 (10 m ago): mail: connection refused (mail.go:41)`},
		"cancelled": {waitingRun(world.Event{Type: world.CancelRequested, By: "ann", Reason: "typo"}).with(end(world.Cancelled, nil)), WhyOver,
			`cancelled by ann at 14:02:00 (10 m ago): typo`},
	} {
		t.Run(name, func(t *testing.T) {
			got := test.c.answer(true)
			if got.Kind != test.kind || got.String() != test.text {
				t.Errorf("got  %s: %s\nwant %s: %s", got.Kind, got, test.kind, test.text)
			}
		})
	}
}

func end(status world.Status, err *world.Error) func(c *whyCase) {
	return func(c *whyCase) {
		c.row.Status, c.row.Error, c.row.EndedAt, c.row.Queue = status, err, ago(10*time.Minute), nil
	}
}

// TestWhyFromRow: lists answer without the log.
func TestWhyFromRow(t *testing.T) {
	c := waitingRun(verifyWait).queue(dueAt(time.Hour)).queue(func(q *world.QueueRow) { q.Waiting = `event "verify"` })
	if got, want := c.answer(false).String(), `waiting for event "verify"; wakes at 15:12:00 (in 1 h)`; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := waitingRun().queue(owned).answer(false).String(), "worker host:1 works on it"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestWhyJSON pins the form that programs read.
func TestWhyJSON(t *testing.T) {
	b, err := json.Marshal(waitingRun(verifyWait).answer(true))
	if err != nil {
		t.Fatal(err)
	}
	want := `{"kind":"event","at":"2026-11-22T14:12:00Z","run":"wrun_1","workflow":"onboard","version":2,"status":"running",` +
		`"step":"verify","id":"wait_1","event":"verify","match":{"userId":"42"},"since":"2026-11-22T13:12:00Z","until":"2026-11-27T09:12:00Z","workers":1,` +
		`"text":"waiting for event \"verify\" where {\"userId\":\"42\"} until Fri 27 Nov 09:12 (in 4 d 19 h)"}`
	if string(b) != want {
		t.Errorf("got  %s\nwant %s", b, want)
	}
	rate := Why{Kind: WhyLimit, Line: &world.InLine{Place: world.Place{Limit: "bank", Number: 3, Per: time.Minute}, Before: 1}, Holds: []world.Place{{Limit: "all", Number: 2}}}
	b, err = json.Marshal(rate)
	if err != nil || !strings.Contains(string(b), `"line":{"limit":"bank","number":3,"before":1,"per":"1m"},"holds":[{"limit":"all","number":2}]`) {
		t.Errorf("of a rate: got %s, %v", b, err)
	}
	var same Why
	if err := json.Unmarshal(b, &same); err != nil || *same.Line != *rate.Line || len(same.Holds) != 1 || same.Holds[0] != rate.Holds[0] {
		t.Errorf("of a rate, read back: %+v, %v", same.Line, err)
	}
	b = []byte(want)
	var back Why
	if err := json.Unmarshal(b, &back); err != nil || back.String() == "" || !strings.Contains(want, `"kind":"`+string(back.Kind)+`"`) {
		t.Errorf("read back: %v, %v", back, err)
	}
}
