package behaviour_test

// This file holds the laws between the runs of a simulation, and looks for what they left behind.

import (
	"bytes"
	"context"
	"strings"
	"time"

	"github.com/stepwell/stepwell/world"
)

func (s *simulation) checkFamilies(runs map[string]*simRun) {
	for _, r := range runs {
		s.checkParent(runs, r)
		s.checkRelatives(runs, r)
	}
	s.checkSends(runs)
	s.checkRemains(runs)
}

// checkParent: a child is created with the step that asked for it; it is asked to end by its parent only when that is over, or waits for it no longer,
// and where it is attached to it.
func (s *simulation) checkParent(runs map[string]*simRun, r *simRun) {
	problem := s.under(r)
	parent := r.Parent
	if cancel := r.log.cancel; cancel != nil && runs[cancel.By] != nil {
		switch {
		case r.replacedBy(runs[cancel.By], cancel.Time):
		case parent == nil || parent.Run != cancel.By:
			problem("cancelled by %s, which is not its parent", cancel.By)
		case parent.Detached:
			problem("cancelled by its parent, though it is detached")
		default:
			by := runs[parent.Run].log
			if step := by.ended[r.program.Name]; !before(by.end, cancel) && !before(step, cancel) && !before(by.left[r.program.Name], cancel) {
				problem("cancelled by its parent, which was not over, had not continued, and waited for it: %+v", step)
			}
		}
	}
	if parent == nil {
		return
	}
	by := runs[parent.Run].log.made[r.program.Name]
	if by == nil || by.ID != parent.Step || by.Peer != r.ID {
		problem("its parent's log says %+v about its birth", by)
	}
}

// checkRelatives: what a run's log says of other runs is what became of them.
func (s *simulation) checkRelatives(runs map[string]*simRun, r *simRun) {
	problem := s.under(r)
	for i := range r.events {
		e := &r.events[i]
		kind := r.log.kinds[e.ID]
		switch {
		case e.Type == world.HookConflict:
			if h := runs[e.Peer]; h == nil || !h.held(e.Token) {
				problem("event %d: token %s is said to be held by run %s, which never did", e.Seq, e.Token, e.Peer)
			}
		case e.Type != world.StepCompleted && e.Type != world.StepFailed, kind != world.KindChild && kind != world.KindAwait:
		case e.Type == world.StepFailed && e.Error.Code == world.CodeNotFound && kind == world.KindAwait:
		case e.Type == world.StepFailed && e.Error.Code == world.CodeRunExists:
			if runs[r.log.peer(e.ID)] == nil {
				problem("event %d: run %s is said to exist", e.Seq, r.log.peer(e.ID))
			}
		default:
			s.checkResult(runs, r, e)
		}
	}
}

// checkSends: what a run has sent is in the other's log once, and what was refused is not. A retry that comes to the
// same statement sends again.
func (s *simulation) checkSends(runs map[string]*simRun) {
	type mail struct{ to, name string }
	sent := map[mail]int{}
	for _, r := range runs {
		for i := range r.events {
			e := &r.events[i]
			if e.Type == world.StepCompleted && r.log.kinds[e.ID] == world.KindSend && (r.Origin == nil || e.Seq > r.Origin.Seq) {
				sent[mail{r.log.peer(e.ID), r.log.names[e.ID]}]++
			}
		}
	}
	for _, r := range runs {
		first := r
		for first.Origin != nil { // what it took over was for that one
			first = runs[first.Origin.Run]
		}
		got := map[mail]int{}
		for i := range r.events {
			e := &r.events[i]
			if e.Type != world.SignalReceived || !strings.HasPrefix(e.Name, "send-") {
				continue
			}
			m := mail{first.ID, e.Name}
			if got[m]++; got[m] > sent[m] {
				s.under(r)("event %d: %s was received %d times, and sent %d times", e.Seq, e.Name, got[m], sent[m])
			}
		}
	}
}

func before(a, b *world.Event) bool { return a != nil && !a.Time.After(b.Time) }

// checkLoser: a child that is waited for no longer is asked to end, unless it had ended by itself; a detached one is not.
func (s *simulation) checkLoser(runs map[string]*simRun, other *simRun, r *simRun, e *world.Event) {
	late := other.log.end.Time.After(e.Time.Add(time.Minute))
	from := r
	for from.Origin != nil && (other.Parent == nil || other.Parent.Run != from.ID) { // the event was taken over
		from = runs[from.Origin.Run]
	}
	if other.Parent == nil || other.Parent.Run != from.ID || other.Parent.Detached || other.log.cancel == nil && !other.forced() && late {
		s.under(r)("event %d: run %s is waited for no longer; its parent is %+v, its cancel %+v, its end %+v", e.Seq, other.ID, other.Parent,
			other.log.cancel, other.log.end)
	}
}

// checkResult holds the result of another run in a log against its end.
func (s *simulation) checkResult(runs map[string]*simRun, r *simRun, e *world.Event) {
	other := runs[r.log.peer(e.ID)]
	if other == nil || other.log.end == nil {
		s.under(r)("event %d: the result of run %s, which did not end", e.Seq, r.log.peer(e.ID))
		return
	}
	want := world.ResultFor(other.log.end, e.ID)
	same := want.Type == e.Type && want.Error != nil && e.Error != nil && want.Error.Code == e.Error.Code && want.Error.Message == e.Error.Message
	told := same && r.Origin != nil && e.Commit == 1 // what a retry took over does not say how it was told
	if r.log.kinds[e.ID] == world.KindChild && e.Type == world.StepFailed && e.Error.Code == world.CodeCancelled && e.Delivery == "" && !told {
		s.checkLoser(runs, other, r, e)
		return
	}
	for heir := other; heir != nil && heir.log.end != nil && r.log.kinds[e.ID] == world.KindAwait; heir = heirOf(runs, heir) {
		if sameResult(world.ResultFor(heir.log.end, e.ID), e) && !heir.log.end.Time.After(e.Time) {
			return // another took its place before that it was over was read, and then that one was waited for
		}
	}
	if !sameResult(want, e) {
		s.under(r)("event %d: %s %s %v of run %s, which ended with %s %s %v", e.Seq, e.Type, e.Payload, e.Error, other.ID,
			other.log.end.Type, other.log.end.Payload, other.log.end.Error)
	}
}

func sameResult(want world.Event, e *world.Event) bool {
	if want.Type != e.Type || !bytes.Equal(want.Payload, e.Payload) || (want.Error == nil) != (e.Error == nil) {
		return false
	}
	return want.Error == nil || want.Error.Code == e.Error.Code && want.Error.Message == e.Error.Message
}

// heirOf is the run that took the place of another; nil: none did.
func heirOf(runs map[string]*simRun, r *simRun) *simRun {
	for _, heir := range runs {
		if heir.events[0].Birth.Key == world.RetryKey(r.ID) {
			return heir
		}
	}
	return nil
}

// held reports whether the run has had a token.
func (r *simRun) held(token string) bool {
	for i := range r.events {
		if e := &r.events[i]; e.Type == world.HookCreated && e.Token == token {
			return true
		}
	}
	return false
}

// peer is the run that a step is about.
func (r *simRead) peer(id string) string { return r.made[r.names[id]].Peer }

// checkRemains: runs that are over leave nothing in the queue, no mail, no tasks, no hooks, nobody who waits for them.
func (s *simulation) checkRemains(runs map[string]*simRun) {
	ctx := context.Background()
	for _, r := range runs {
		if r.Queue != nil {
			s.under(r)("it is in the queue: %+v", r.Queue)
		}
		if r.Status != statusOf(r.log.end) {
			s.under(r)("its row says %s, its log %+v", r.Status, r.log.end)
		}
		tasks, err := s.below.Tasks(ctx, r.ID)
		if err != nil || len(tasks) > 0 {
			s.under(r)("%d tasks are left, %v", len(tasks), err)
		}
	}
	hooks, err := s.below.Hooks(ctx, world.HookQuery{})
	if err != nil || len(hooks) > 0 {
		s.problem("hooks are left: %+v, %v", hooks, err)
	}
	for _, left := range s.remains() {
		s.problem("%s", left)
	}
	if strings.Contains(s.logs.text(), "invalid: ") {
		s.problem("a worker sent what no world accepts")
	}
}

func statusOf(end *world.Event) world.Status {
	if end == nil {
		return ""
	}
	return map[world.EventType]world.Status{
		world.RunCompleted: world.Completed, world.RunFailed: world.Failed, world.RunCancelled: world.Cancelled,
	}[end.Type]
}
