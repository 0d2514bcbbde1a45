package stepwell

// This file decides why a run does not move, from its row, its journal and the workers that are alive. It knows no clock.

import (
	"slices"
	"time"

	"github.com/stepwell/stepwell/world"
)

// whyFinder is one question. journal may be nil: then the row has to do.
type whyFinder struct {
	run     *world.Run
	journal *world.Journal
	tasks   map[string]string // worker that has the task of a step, by the step's ID
	workers []world.WorkerRow // that are alive
	now     time.Time
	why     Why
}

func whyOf(r *world.Run, j *world.Journal, tasks map[string]string, workers []world.WorkerRow, now time.Time) Why {
	f := &whyFinder{run: r, journal: j, tasks: tasks, now: now}
	for _, w := range workers {
		if w.Until.After(now) {
			f.workers = append(f.workers, w)
		}
	}
	f.why = Why{At: now, Run: r.ID, Workflow: r.Workflow, Version: r.Version, Status: r.Status, Workers: len(f.workers)}
	f.find()
	return f.why
}

func (f *whyFinder) find() {
	q := f.run.Queue
	if f.run.Status.Terminal() || q == nil {
		f.over()
		return
	}
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
	case f.run.Status == world.Pending && q.WakeAt.After(f.now):
		f.why.Kind, f.why.Since, f.why.Until = WhyDelayed, f.run.CreatedAt, q.WakeAt
	case f.ready(q):
		f.queued(q)
	case f.journal == nil:
		f.why.Kind, f.why.Waiting, f.why.Until = WhyWaiting, q.Waiting, q.WakeAt
	default:
		f.waiting(q)
	}
}

func (f *whyFinder) over() {
	f.why.Kind, f.why.Since = WhyOver, f.run.EndedAt
	if e := f.run.Error; e != nil {
		f.why.Error = &world.AttemptError{Message: e.Message, Code: e.Code, Where: e.Where, At: f.run.EndedAt}
	}
	f.by(f.cancel())
}

func (f *whyFinder) by(a *world.Act) {
	if a != nil {
		f.why.By, f.why.Reason = a.By, a.Reason
	}
}

func (f *whyFinder) cancel() *world.Act {
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
	f.why.Kind, f.why.Worker = WhyWorkerLost, ownerName(q)
	if en := f.running(); en != nil {
		f.inStep(en)
	}
}

func ownerName(q *world.QueueRow) string {
	if q.OwnerName != "" {
		return q.OwnerName
	}
	return q.Owner
}

func (f *whyFinder) cancelling(q *world.QueueRow) {
	f.by(f.cancel())
	f.why.Kind, f.why.Worker = WhyCancelling, ownerName(q)
	if en := f.running(); en != nil && q.Owner != "" {
		f.inStep(en)
	}
	f.why.Since = f.cancel().At
}

// owned: a worker has the run. It may wait for a retry that is near.
func (f *whyFinder) owned(q *world.QueueRow) {
	f.why.Kind, f.why.Worker = WhyWorking, ownerName(q)
	if en := f.running(); en != nil {
		f.inStep(en)
		return
	}
	if f.journal == nil {
		return
	}
	for _, en := range f.journal.Entries {
		if en.Status == world.EntryPending && en.RetryAt.After(f.now) {
			f.retry(en)
			return
		}
	}
}

// running is the step whose body has run longest, or nil.
func (f *whyFinder) running() *world.Entry {
	if f.journal == nil {
		return nil
	}
	var oldest *world.Entry
	for _, en := range f.journal.Entries {
		if en.Status != world.EntryRunning {
			continue
		}
		if oldest == nil || en.AttemptAt.Before(oldest.AttemptAt) {
			oldest = en
		}
	}
	return oldest
}

func (f *whyFinder) inStep(en *world.Entry) {
	f.name(en)
	f.why.Since, f.why.Attempt = en.AttemptAt, en.Attempt
	if n := len(en.Earlier); n > 0 {
		f.why.Error = &en.Earlier[n-1]
	}
}

func (f *whyFinder) name(en *world.Entry) { f.why.Step, f.why.ID = en.Key().String(), en.ID }

func (f *whyFinder) retry(en *world.Entry) {
	f.name(en)
	f.why.Kind, f.why.Until, f.why.Attempt = WhyRetry, en.RetryAt, en.Attempt
	if e := en.Error; e != nil {
		f.why.Error = &world.AttemptError{Attempt: en.Attempt, Message: e.Message, Code: e.Code, Where: e.Where, At: en.CompletedAt}
	}
}

func (f *whyFinder) paused() {
	f.why.Kind = WhyPaused
	if f.journal != nil && f.journal.Paused != nil {
		f.by(f.journal.Paused)
		f.why.Since = f.journal.Paused.At
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
	}
}

// waiting: the first open thing in the order of the code counts, but for a registered step that nobody knows, and for hooks, which
// are often open beside what is waited for.
func (f *whyFinder) waiting(q *world.QueueRow) {
	var first *world.Entry
	open := 0
	for _, en := range f.journal.Entries {
		if !isOpen(en) {
			continue
		}
		open++
		if first == nil || f.rank(en) < f.rank(first) {
			first = en
		}
	}
	if first == nil { // its row and its log were read at different times, or its code has stopped without asking for anything
		f.why.Kind, f.why.Waiting, f.why.Until = WhyWaiting, q.Waiting, q.WakeAt
		return
	}
	f.why.More = open - 1
	f.entry(first)
}

func isOpen(en *world.Entry) bool {
	switch en.Status {
	case world.EntryPending, world.EntryRunning, world.EntryWaiting, world.EntryActive:
		return true
	}
	return false
}

func (f *whyFinder) rank(en *world.Entry) int {
	switch {
	case en.Kind == world.KindTask && en.Status != world.EntryRunning && !f.known(en.Name):
		return 0
	case en.Kind == world.KindHook:
		return 2
	default:
		return 1
	}
}

// known reports whether a worker that is alive registered the step.
func (f *whyFinder) known(step string) bool {
	return slices.ContainsFunc(f.workers, func(w world.WorkerRow) bool { return slices.Contains(w.Steps, step) })
}

// entry answers with what the run waits for.
func (f *whyFinder) entry(en *world.Entry) {
	f.name(en)
	f.why.Since, f.why.Until = en.CreatedAt, en.Until
	switch en.Kind {
	case world.KindSleep:
		f.why.Kind = WhySleep
	case world.KindEvent:
		f.why.Kind, f.why.Event, f.why.Match = WhyEvent, en.Name, en.Match
	case world.KindCondition:
		f.why.Kind = WhyCondition
	case world.KindChild, world.KindAwait:
		f.why.Kind, f.why.Peer = WhyRun, en.Peer
	case world.KindHook:
		f.why.Kind, f.why.Token = WhyHook, en.Token
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
func (f *whyFinder) task(en *world.Entry) {
	f.why.Kind, f.why.Attempt = WhyTask, en.Attempt
	switch {
	case en.Status == world.EntryRunning:
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
