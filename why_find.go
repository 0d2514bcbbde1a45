package stepwell

// This file decides why a run does not move, from its row, its journal and the workers that are alive. It knows no clock.

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/stepwell/stepwell/internal/engine"
	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/journal"
)

// whyFinder is one question. journal may be nil: then the row has to do.
type whyFinder struct {
	run     *RunInfo
	journal *journal.Journal
	tasks   map[string]string // worker that has the task of a step, by the step's ID
	workers []world.WorkerRow // that are alive
	now     time.Time
	lost    int // see [Why].Lost; of what the row notes
	why     Why
}

func whyOf(r *RunInfo, j *journal.Journal, tasks map[string]string, workers []world.WorkerRow, now time.Time) Why {
	f := &whyFinder{run: r, journal: j, tasks: tasks, now: now}
	for _, w := range workers {
		if w.Until.After(now) {
			f.workers = append(f.workers, w)
		}
	}
	f.why = Why{At: now, Run: r.ID, Workflow: r.Workflow, Version: r.Version, Status: r.Status, Workers: len(f.workers)}
	f.find()
	f.costs()
	if j != nil && f.why.Kind != WhyOver {
		for _, a := range j.Aside {
			if a.Waited {
				a.Payload = nil
				f.why.Aside = append(f.why.Aside, a)
			}
		}
		f.why.Aside = f.why.Aside[max(len(f.why.Aside)-mostAsides, 0):]
	}
	return f.why
}

// costs says what acts would make worse.
func (f *whyFinder) costs() {
	if f.why.Kind == WhyBlocked {
		f.why.Cancel = "nothing is undone: its code does not run, not even to clean up or undo"
	}
	if f.journal == nil || f.run.Status == world.Completed {
		return
	}
	f.why.Restart = f.journal.Again(0)
	if b := f.why.Block; f.why.Kind == WhyBlocked && b != nil && b.Seq > leastForked {
		switch b.Code {
		case world.CodeDiverged:
			f.why.Fork = f.journal.Again(b.Seq - 1)
		case world.CodeCorrupt:
			f.why.Fork = fmt.Sprintf("what it did after event %d runs again, because its log cannot be read there", b.Seq-1)
		}
	}
}

// leastForked is the event behind which a blocked run has something that a fork could take over.
const leastForked = 2

// mostAsides is how many payloads that were set aside an answer names.
const mostAsides = 3

func (f *whyFinder) find() {
	q := f.run.Queue
	if what := f.run.Damage; what != "" {
		f.why.Block = &world.Block{Code: world.CodeCorrupt, Message: what, Seq: 1}
	}
	switch {
	case f.run.Status.Terminal(), q == nil && f.why.Block == nil:
		f.over()
		return
	case f.why.Block != nil && (q == nil || q.Owner == "" && q.Blocked == nil): // nobody has found it yet
		f.why.Kind = WhyBlocked
		return
	}
	f.why.Block = nil
	f.why.Mail = q.Mail
	switch {
	case q.Owner != "" && !f.alive(q.Owner):
		f.workerLost(q)
	case f.cancel() != nil:
		f.cancelling(q)
	case q.Owner != "":
		f.owned(q)
	case q.Paused:
		f.paused()
	case q.Blocked != nil:
		f.why.Kind, f.why.Block, f.why.Since, f.why.Until = WhyBlocked, q.Blocked, q.Blocked.Since, q.WakeAt
		f.unfit(q.Blocked)
	case q.Held:
		f.why.Kind = WhyHeld
	case f.run.Status == world.Pending && q.WakeAt.After(f.now) && f.run.Gather != nil:
		f.why.Kind, f.why.Since, f.why.Until, f.why.Gathers = WhyGathers, f.run.CreatedAt, q.WakeAt, f.gathered()
	case f.run.Status == world.Pending && q.WakeAt.After(f.now):
		f.why.Kind, f.why.Since, f.why.Until = WhyDelayed, f.run.CreatedAt, q.WakeAt
	case q.Limit != "":
		f.why.Kind, f.why.Waiting, f.why.Peer = WhyLimit, "limit "+quote(q.Limit), q.Behind
		if q.LimitKey != "" {
			f.why.Waiting += ", key " + quote(q.LimitKey)
		}
	case f.ready(q):
		f.queued(q)
	case f.journal == nil:
		f.why.Kind, f.why.Waiting, f.why.Until = WhyWaiting, q.Waiting, q.WakeAt
	default:
		f.waiting(q)
	}
}

// unfit says whose result it is that does not fit, where a program in another language gave it.
func (f *whyFinder) unfit(b *world.Block) {
	if b.Code != world.CodeDecode || b.Step == "" || f.journal == nil {
		return
	}
	if en := f.journal.Entry(b.Step); en != nil && en.Status == journal.EntryCompleted {
		f.why.By = en.By
	}
}

// gathered is how many starts the run has the inputs of; 0: it was not looked up.
func (f *whyFinder) gathered() int {
	if f.journal == nil {
		return 0
	}
	return f.journal.Gathered()
}

func (f *whyFinder) over() {
	f.why.Kind, f.why.Since = WhyOver, f.run.EndedAt
	if e := f.run.Error; e != nil {
		f.why.Error = &journal.AttemptError{Message: e.Message, Code: e.Code, Where: e.Where, At: f.run.EndedAt}
	}
	if f.run.Status == world.Cancelled { // else the cancel was not what ended it, or a part of how it failed
		f.by(f.cancel())
	}
}

func (f *whyFinder) by(a *journal.Act) {
	if a != nil {
		f.why.By, f.why.Reason = a.By, a.Reason
	}
}

func (f *whyFinder) cancel() *journal.Act {
	if f.journal == nil {
		return nil
	}
	return f.journal.Cancel
}

func (f *whyFinder) alive(worker string) bool {
	return slices.ContainsFunc(f.workers, func(w world.WorkerRow) bool { return w.ID == worker })
}

// workerLost: the owner died, or cannot reach the world. Its lease in the file may have ended, or be gone with its row.
func (f *whyFinder) workerLost(q *world.QueueRow) {
	f.why.Kind, f.why.Worker = WhyWorkerLost, f.run.Owner()
	if en := f.running(); en != nil {
		f.inStep(en)
	}
}

func (f *whyFinder) cancelling(q *world.QueueRow) {
	f.by(f.cancel())
	f.why.Kind, f.why.Worker = WhyCancelling, f.run.Owner()
	if en := f.running(); en != nil && q.Owner != "" {
		f.inStep(en)
	} else if en := f.undoing(); en != nil {
		f.retry(en)
		f.why.Kind = WhyCancelling
	}
	f.why.Since = f.cancel().At
}

// undoing is the undo that failed and is tried again later, or nil.
func (f *whyFinder) undoing() *journal.Entry {
	if f.journal == nil {
		return nil
	}
	for _, en := range f.journal.Entries {
		if isOpen(en) && en.Undo() && en.RetryAt.After(f.now) {
			return en
		}
	}
	return nil
}

// owned: a worker has the run. It may wait for a retry that is near, or for its turn to try what ended a process before.
func (f *whyFinder) owned(q *world.QueueRow) {
	f.why.Kind, f.why.Worker = WhyWorking, f.run.Owner()
	if f.journal == nil {
		return
	}
	en := f.running()
	if en != nil {
		f.inStep(en)
	}
	if f.journal.Paused != nil {
		f.paused()
		return
	}
	if en != nil || f.quarantine() {
		return
	}
	begun := false
	for _, en := range f.journal.Entries {
		if en.Status == journal.EntryPending && en.RetryAt.After(f.now) {
			f.retry(en)
			return
		}
		begun = begun || en.Status == journal.EntryRunning
	}
	if begun {
		return // by a process that is gone: its turn comes
	}
	if f.run.driven() {
		f.atApp()
		return
	}
	if last := f.last(); f.now.Sub(last) > quiet {
		f.why.Since = last
	}
}

// quiet is how long a worker that has a run, and runs no body of it, may write nothing before that is worth a word: it gives up at once what only waits.
const quiet = 30 * time.Second

// last is when something was last written that the journal shows.
func (f *whyFinder) last() time.Time {
	last := f.journal.CreatedAt
	see := func(times ...time.Time) {
		for _, t := range times {
			if t.After(last) {
				last = t
			}
		}
	}
	see(f.journal.StartedAt)
	for _, en := range f.journal.Entries {
		see(en.StartedAt, en.AttemptAt, en.CompletedAt)
	}
	return last
}

// running is the step whose body has run longest, or nil.
func (f *whyFinder) running() *journal.Entry {
	if f.journal == nil {
		return nil
	}
	var oldest *journal.Entry
	joined := f.joined()
	for _, en := range f.journal.Entries {
		if en.Status != journal.EntryRunning || en.Kind != world.KindTask && en.AttemptAt.Before(joined) {
			continue // the last one: its process is gone, and the run's owner has not started it again
		}
		if oldest == nil || en.AttemptAt.Before(oldest.AttemptAt) {
			oldest = en
		}
	}
	return oldest
}

// joined is when the run's owner came, if it is alive.
func (f *whyFinder) joined() (at time.Time) {
	for i := range f.workers {
		if q := f.run.Queue; q != nil && f.workers[i].ID == q.Owner {
			at = f.workers[i].JoinedAt
		}
	}
	return at
}

// quarantineDeaths is how often a step's process died before the step runs alone; see internal/engine/crash_loop.go.
const quarantineDeaths = 2

// quarantine answers with a step that has to wait for its turn, if there is one.
func (f *whyFinder) quarantine() bool {
	for _, en := range f.journal.Entries {
		if !isOpen(en) || en.Kind != world.KindClosure || en.RetryAt.After(f.now) {
			continue
		}
		n := deathsOf(en)
		if en.Status == journal.EntryRunning {
			n++ // its last start too: nobody runs it now
		}
		if n >= quarantineDeaths {
			f.name(en)
			f.why.Kind, f.why.Since, f.why.Attempt, f.why.Deaths = WhySuspect, en.AttemptAt, en.Attempt, n
			return true
		}
	}
	return false
}

// deathsOf counts the attempts that began and were never heard of again, but for the last one of a step that runs. Of a step with
// many errors the first attempts are no longer known.
func deathsOf(en *journal.Entry) (n int) {
	last := en.Attempt
	if en.Status == journal.EntryRunning {
		last--
	}
	from := 1
	if len(en.Earlier) >= 10 {
		from = en.Earlier[0].Attempt
	}
	for a := from; a <= last; a++ {
		known := en.Error != nil && a == en.Attempt
		for i := range en.Earlier {
			known = known || en.Earlier[i].Attempt == a
		}
		if !known {
			n++
		}
	}
	return n
}

func (f *whyFinder) inStep(en *journal.Entry) {
	f.name(en)
	f.why.Since, f.why.Attempt, f.why.Deaths = en.AttemptAt, en.Attempt, deathsOf(en)
	if n := len(en.Earlier); n > 0 {
		f.why.Error = &en.Earlier[n-1]
	}
}

func (f *whyFinder) name(en *journal.Entry) {
	f.why.Step, f.why.ID, f.why.Undo = en.Title(), en.ID, en.Undo()
	f.why.UndoNow = en.Undo() && !en.Compensates()
}

func (f *whyFinder) retry(en *journal.Entry) {
	f.name(en)
	f.why.Kind, f.why.Until, f.why.Attempt = WhyRetry, en.RetryAt, en.Attempt
	if e := en.Error; e != nil {
		f.why.Error = &journal.AttemptError{Attempt: en.Attempt, Message: e.Message, Code: e.Code, Where: e.Where, At: en.CompletedAt}
	}
}

func (f *whyFinder) paused() {
	f.why.Kind = WhyPaused
	switch {
	case f.journal == nil:
	case f.journal.Paused != nil:
		f.by(f.journal.Paused)
		f.why.Since = f.journal.Paused.At
	default: // its row was changed by hand, or it was resumed a moment ago
		f.why.Reason = "its row says so but its log does not; `stepwell runs resume` repairs this"
	}
}

// ready reports whether a worker that knows the run may take it now.
func (f *whyFinder) ready(q *world.QueueRow) bool {
	due := !q.WakeAt.IsZero() && !q.WakeAt.After(f.now)
	return f.run.Status == world.Pending || due || q.Mail > 0
}

func (f *whyFinder) queued(q *world.QueueRow) {
	f.why.Kind, f.why.Since = WhyQueued, q.WakeAt
	if f.why.Since.IsZero() && f.run.Status == world.Pending {
		f.why.Since = f.run.CreatedAt
	}
	class := world.Class{Workflow: f.run.Workflow, Version: f.run.Version}
	if !slices.ContainsFunc(f.workers, func(w world.WorkerRow) bool { return slices.Contains(w.Classes, class) }) {
		f.why.Kind = WhyNoWorker
		f.why.Versions = engine.Versions(f.workers, f.run.Workflow)
	}
}

// waiting: what the code really waits for counts, as its worker noted it when it let go of the run: a timer that has lost a race is open as well. Without such a
// note the first open thing in the order of the code counts, but for hooks, which are often open beside what is waited for. A registered step that nobody knows comes
// before all.
func (f *whyFinder) waiting(q *world.QueueRow) {
	var first, noted *journal.Entry
	open := 0
	for _, en := range f.journal.Entries {
		if !isOpen(en) {
			continue
		}
		if open++; first == nil || f.rank(en) < f.rank(first) {
			first = en
		}
		if noted == nil && (f.notes(en, false) || f.notes(en, true)) {
			noted = en
		}
	}
	urgent := first != nil && f.rank(first) == 0
	if noted != nil && !urgent {
		first, f.why.Lost = noted, f.lost
	}
	switch {
	case noted == nil && !urgent && f.notes(&journal.Entry{Kind: world.KindCondition}, false):
		f.why.Kind, f.why.More = WhyCondition, open // without a deadline: the log does not have it
		f.also(nil)
	case first != nil:
		f.why.More = open - 1
		if first.Kind == world.KindReceive && slices.ContainsFunc(f.journal.Entries, func(en *journal.Entry) bool { return isOpen(en) && hookOf(en, first) }) {
			f.why.More-- // the hook is what it waits at
		}
		f.entry(first)
		f.also(first)
	case q.Waiting != "" || !q.WakeAt.IsZero(): // its row and its log were read at different times
		f.why.Kind, f.why.Waiting, f.why.Until = WhyWaiting, q.Waiting, q.WakeAt
	default: // its code has stopped without asking for anything
		f.why.Kind = WhyCondition
	}
}

// notes reports whether what the run's row says of its waiting begins with an entry.
func (f *whyFinder) notes(en *journal.Entry, retry bool) bool {
	rest, ok := strings.CutPrefix(f.run.Queue.Waiting, engine.Noted(en.Kind, en.Key(), en.Peer, retry))
	rest = strings.TrimPrefix(strings.TrimPrefix(rest, engine.Listens), engine.SetAside)
	f.lost, rest = engine.CutTaken(rest)
	return ok && (rest == "" || strings.HasPrefix(rest, " and "))
}

// mostAlso is how many of the other open things are named.
const mostAlso = 2

// also names what is open beside the first.
func (f *whyFinder) also(first *journal.Entry) {
	for _, en := range f.journal.Entries {
		if en != first && isOpen(en) && !hookOf(en, first) && len(f.why.Also) < mostAlso {
			text, ok := heardAt(f.journal, en, f.now)
			if !ok {
				text = openText(en, f.now)
			}
			f.why.Also = append(f.why.Also, text)
		}
	}
}

// hookOf reports whether an entry is the hook at which another, which may be nil, waits for a payload.
func hookOf(en, wait *journal.Entry) bool {
	return wait != nil && wait.Kind == world.KindReceive && en.Kind == world.KindHook && en.Token == wait.Token
}

func isOpen(en *journal.Entry) bool {
	switch en.Status {
	case journal.EntryPending, journal.EntryRunning, journal.EntryWaiting, journal.EntryActive:
		return true
	}
	return false
}

func (f *whyFinder) rank(en *journal.Entry) int {
	switch {
	case en.Kind == world.KindTask && en.Status != journal.EntryRunning && !f.known(en.Name):
		return 0
	case en.Kind == world.KindHook:
		return 2
	case en.Reminds():
		return 3
	default:
		return 1
	}
}

// known reports whether a worker that is alive registered the step.
func (f *whyFinder) known(step string) bool {
	return slices.ContainsFunc(f.workers, func(w world.WorkerRow) bool { return slices.Contains(w.Steps, step) })
}

// entry answers with what the run waits for.
func (f *whyFinder) entry(en *journal.Entry) {
	f.name(en)
	f.why.Since, f.why.Until = en.CreatedAt, en.Until
	switch en.Kind {
	case world.KindSleep:
		f.why.Kind = WhySleep
	case world.KindEvent:
		f.why.Kind, f.why.Event, f.why.Match, f.why.Listens = WhyEvent, en.Name, en.Match, en.Listens
	case world.KindCondition:
		f.why.Kind = WhyCondition
	case world.KindChild:
		f.why.Kind, f.why.Peer = WhyChild, en.Peer
	case world.KindAwait:
		f.why.Kind, f.why.Peer = WhyRun, en.Peer
	case world.KindHook:
		f.why.Kind, f.why.Token = WhyHook, en.Token
	case world.KindReceive:
		f.why.Kind, f.why.Token, f.why.Step = WhyHook, en.Token, en.Name
	case world.KindTask:
		f.task(en)
	default:
		f.why.Kind = WhyQueued
		if en.RetryAt.After(f.now) {
			f.retry(en)
		}
	}
}

// task: a registered step runs on some worker, or is queued, perhaps for its next attempt.
func (f *whyFinder) task(en *journal.Entry) {
	f.why.Kind, f.why.Attempt = WhyTask, en.Attempt
	switch {
	case en.Status == journal.EntryRunning:
		f.inStep(en)
		for i := range f.workers {
			if f.workers[i].ID == f.tasks[en.ID] {
				f.why.Worker = f.workers[i].Name
			}
		}
	case !f.known(en.Name):
		f.why.Kind = WhyNoWorker
	case en.RetryAt.After(f.now):
		f.retry(en)
	}
}
