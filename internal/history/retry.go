package history

// This file says what a retry of a run does: where it goes on, or why it cannot, and what can instead.
//
//  1. What ended stays ended: a retry begins before the failures that failed the run, and leaves out no step that completed, and no child that began. So no
//     body that came to its end runs again under a new idempotency key.
//  2. Which failures those are, the run's end says: an error that came of a step's failure names the step. Where it names none, no step runs again:
//     the code is evaluated again behind the last event.
//  3. A cancel for the run's timeout, and undo functions that undid nothing, are left out, or the code would come to the same end again.
//  4. Where that is not to be had, there is no retry; nor is there one of a run whose input did not fit, as it would fit no better.

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/stepwell/stepwell/world"
)

// Retry is where a retry of a run begins, or why there is none.
type Retry struct {
	At    int64    `json:"at,omitempty"`    // number of the last event that the new run takes over; of what is behind it, it has the results of what was asked for before
	Steps []string `json:"steps,omitempty"` // names of the steps that failed the run, and run again; empty: only the code does
	Anew  bool     `json:"anew,omitempty"`  // the run had run out of time: the new one has its whole timeout again

	Healed  []string                   `json:"healed,omitempty"` // names of the steps that failed the run, and complete with what the newest run in their run's place came to
	Results map[string]json.RawMessage `json:"-"`                // the same by the steps' IDs

	Refused string `json:"refused,omitempty"` // why there is no retry; "": there is
	Child   string `json:"child,omitempty"`   // the failed child that could be retried instead
	Awaited string `json:"awaited,omitempty"` // the awaited run that did not complete, which could be
	Peer    string `json:"peer,omitempty"`    // the newest run in the place of Child or Awaited, where a retry of that does not help: it goes on, or was cancelled
	PeerIs  string `json:"peerIs,omitempty"`  // how Peer stands: a status, or blocked, or paused
	Newest  string `json:"newest,omitempty"`  // the run that all this is of, where it is not the one that was asked for: the newest in its place
	Result  string `json:"result,omitempty"`  // the step whose result a fork could be given
	Fork    int64  `json:"fork,omitempty"`    // the event that a fork could begin behind: it takes the risk that Refused names; 0: none
	Restart bool   `json:"restart,omitempty"` // it can be restarted
	Undone  string `json:"undone,omitempty"`  // the undo functions that have undone what it did, as a list: a fork that takes over what they undid goes on without it
	Input   bool   `json:"input,omitempty"`   // of a restart, or a fork, that needs another input: the run's own does not fit
}

// Does says what a retry does.
func (r *Retry) Does() string {
	var s string
	switch len(r.Steps) {
	case 0:
		if s = "a new run runs its code again"; !r.Anew && len(r.Healed) == 0 {
			s += ", which helps if that was fixed"
		}
	case 1:
		s = "a new run continues from the step that failed, " + strconv.Quote(r.Steps[0])
	default:
		s = "a new run continues from the steps that failed, " + list(r.Steps)
	}
	if len(r.Healed) > 0 {
		s += ", with the result of the run that replaced the failed one: " + list(r.Healed)
	}
	if r.Anew {
		s += fmt.Sprintf(" after event %d, with its whole timeout", r.At)
	}
	if r.Newest != "" {
		s = "run " + r.Newest + ", which replaced it, failed too: " + s
	}
	return s
}

// Instead says what can be done where there is no retry; "": nothing.
func (r *Retry) Instead() string {
	var ways []string
	it := "it"
	if r.Newest != "" {
		it = "run " + r.Newest
	}
	switch {
	case r.PeerIs == string(world.Cancelled):
		ways = append(ways, "restart run "+r.Peer+" in its place, and when that completed retry this run")
	case r.Peer != "":
		ways = append(ways, "wait until run "+r.Peer+" completed, and retry this run then")
	case r.Child != "":
		ways = append(ways, "retry run "+r.Child+", and when that completed this run again")
	case r.Awaited != "":
		ways = append(ways, "see to run "+r.Awaited+", and when it was retried and completed retry this run")
	}
	if r.Input {
		return "start " + it + ", or restart or fork it, with an input that fits"
	}
	if r.Result != "" {
		ways = append(ways, fmt.Sprintf("fork %s at event %d with a result of step %q", it, r.Fork, r.Result))
	}
	if r.Fork != 0 {
		way := fmt.Sprintf("fork %s at event %d, if that is right", it, r.Fork)
		if r.Undone != "" {
			way += ": what it did was undone since (" + r.Undone + "), and a fork does not do it again"
		}
		ways = append(ways, way)
	}
	if r.Restart {
		ways = append(ways, "restart "+it)
	}
	return strings.Join(ways, "; or ")
}

// Token is that of an open hook.
type Token struct{ Hook, Token string }

// made is a step of the newest segment.
type made struct {
	seq, end int64 // numbers of its creation and its end; 0: it has not ended
	name     string
	kind     world.Kind
	peer     string
	undo     bool
	failed   *world.Error
	times    int // its occurrence
}

func (m *made) String() string {
	if m.times > 0 {
		return m.name + "[" + strconv.Itoa(m.times) + "]"
	}
	return m.name
}

// done reports whether its body came to its end: it completed, or its result could not be kept.
func (m *made) done() bool {
	return m.end > 0 && (m.failed == nil || m.unkept())
}

func (m *made) unkept() bool {
	return m.failed != nil && (m.kind == world.KindClosure || m.kind == world.KindTask) &&
		slices.Contains([]string{world.CodeEncode, world.CodeTooLarge, world.CodeDecode}, m.failed.Code)
}

// begun reports whether it is a child that was created and did not complete.
func (m *made) begun() bool {
	return m.kind == world.KindChild && (m.end == 0 || m.failed != nil && m.failed.Code != world.CodeRunExists)
}

// retrier reads what a retry needs to know of the newest segment.
type retrier struct {
	healed map[string]json.RawMessage // by the failed run
	end    *world.Event
	began  bool  // its code
	last   int64 // number of the last event that a retry may take
	cancel *world.Event
	steps  map[string]*made
	order  []string // of steps
	hooks  map[string]int64
	sent   []world.Event // payloads of hooks
}

// Retry says where a retry of the run begins, or why there is none. It needs no payloads. Of runs that it started or awaited, and that did not complete,
// others may have taken the place: healed has what these came to.
func (h *History) Retry(healed map[string]json.RawMessage) Retry {
	f := &retrier{healed: healed, steps: map[string]*made{}, hooks: map[string]int64{}}
	for i := range h.Events {
		f.read(&h.Events[i])
	}
	switch f.end.Type {
	case world.RunCompleted:
		return Retry{Refused: "it has not failed: it completed", Restart: true}
	case world.RunCancelled:
		return Retry{Refused: "it has not failed: it was cancelled", Fork: f.forkable(f.last), Restart: true, Undone: f.undone()}
	case world.RunFailed:
		if f.end.FreesKey(f.began) {
			return Retry{
				Refused: "its input does not fit the workflow: a new run would fail in the same way", Fork: f.forkable(f.last), Restart: true, Input: true,
			}
		}
	default:
		return Retry{Refused: "it has not failed: it is not over"}
	}
	var r Retry
	for _, cut := range f.cuts() {
		if r = f.at(cut); r.Refused == "" || r.Child != "" || r.Awaited != "" { // behind what stays failed it would fail of that again
			break
		}
	}
	return r
}

func (f *retrier) read(e *world.Event) {
	switch e.Type {
	case world.RunStarted:
		f.began = true
	case world.RunContinued: // what was asked for before is over
		clear(f.steps)
		f.order, f.sent = nil, nil
	case world.StepCreated:
		if record(e) {
			return
		}
		undo := strings.HasPrefix(e.Path, world.UndoPath+"[")
		f.steps[e.ID] = &made{seq: e.Seq, name: e.Name, kind: e.Kind, peer: e.Peer, undo: undo, times: e.Occurrence}
		f.order = append(f.order, e.ID)
		if undo {
			f.bound(e.Seq - 1)
		}
	case world.StepCompleted, world.StepFailed:
		if m := f.steps[e.ID]; m != nil {
			if m.end = e.Seq; e.Type == world.StepFailed {
				if m.failed = e.Error; m.failed == nil {
					m.failed = &world.Error{}
				}
			}
		}
	case world.HookCreated:
		f.hooks[e.ID] = e.Seq
	case world.HookReceived:
		f.sent = append(f.sent, *e)
	case world.CancelRequested:
		f.cancel = e
		f.bound(e.Seq - 1)
	}
	if f.end == nil || !f.end.Type.Terminal() { // driven from outside, steps may end behind their run
		f.end = e
	}
	if e.Type.Terminal() {
		f.bound(e.Seq - 1)
	}
}

func (f *retrier) bound(seq int64) {
	if f.last == 0 || seq < f.last {
		f.last = seq
	}
}

// forkable is the event to fork behind; 0 where there is none but the birth.
func (f *retrier) forkable(seq int64) int64 { return max(seq, 1) }

// cuts are where a retry could begin, the one that runs most again first.
func (f *retrier) cuts() (cuts []int64) {
	for _, id := range f.failures(f.end.Error, nil) {
		if m := f.steps[id]; m.end <= f.last {
			cuts = append(cuts, m.end-1)
		}
	}
	if len(cuts) == 0 {
		return []int64{f.last}
	}
	slices.Sort(cuts)
	return slices.Compact(cuts)
}

// failures adds the steps that an error came of, outermost ones: what failed by itself and undid nothing.
func (f *retrier) failures(e *world.Error, found []string) []string {
	if e == nil {
		return found
	}
	id := e.Step
	if m := f.steps[id]; m != nil && m.failed != nil {
		if !m.undo && m.failed.Code != world.CodeCancelled {
			found = append(found, id)
		}
		return found
	}
	for _, cause := range e.Causes {
		found = f.failures(cause, found)
	}
	return found
}

// at says what a retry would be that takes the events up to a number.
func (f *retrier) at(cut int64) Retry {
	r := Retry{At: cut, Anew: f.end.Error != nil && f.end.Error.Code == world.CodeTimeout, Fork: f.forkable(cut), Restart: true}
	var left []string
	causes := f.failures(f.end.Error, nil)
	for _, id := range f.order {
		m := f.steps[id]
		again := m.end > cut && m.failed != nil && m.seq <= cut // it runs again
		switch {
		case m.undo && m.done(): // see below
		case again && f.healed[m.peer] != nil:
			r.heal(id, m, f.healed[m.peer])
		case again && m.unkept():
			r.refuse(m, fmt.Sprintf("step %q did its work, but its result could not be kept (%s): a retry would do the work again", m, m.failed.Code))
		case again && m.begun() && m.failed.Code == world.CodeCancelled:
			if r.refuse(nil, fmt.Sprintf("its child run %s (step %q) was cancelled: a retry would start another one", m.peer, m)) {
				r.Child = m.peer
			}
		case m.begun() && m.end == 0:
			r.refuse(nil, fmt.Sprintf("its child run %s (step %q) had begun: a retry would start another one", m.peer, m))
		case again && m.begun():
			if r.refuse(m, fmt.Sprintf("its child run %s (step %q) failed: a retry would start it from the beginning and repeat its work", m.peer, m)) {
				r.Child = m.peer
			}
		case again && m.kind == world.KindAwait && m.failed.Code != world.CodeNotFound && m.failed.Code != world.CodeCancelled:
			if r.refuse(m, fmt.Sprintf("run %s, which it awaited (step %q), did not complete, and cannot any more", m.peer, m)) {
				r.Awaited = m.peer
			}
		case m.seq > cut && (m.done() || m.begun()):
			left = append(left, m.String())
		case again, m.seq > cut && slices.Contains(causes, id): // it comes behind one that runs again
			r.Steps = append(r.Steps, m.String())
		}
	}
	switch undone := f.undone(); {
	case undone != "":
		return Retry{Refused: "it has undone its work (" + undone + "): a retry would complete without that work", Restart: true, Undone: undone}
	case r.Refused == "" && left != nil:
		r.Refused = fmt.Sprintf("%s ended after the step that failed the run: a retry would leave it out, or do it again", list(left))
	}
	for i := range f.sent {
		if e := &f.sent[i]; e.Seq > cut && f.hooks[e.ID] > cut && r.Refused == "" {
			r.Refused = fmt.Sprintf("a payload (event %d) arrived at a hook that was opened after the step that failed the run: a retry would leave it out", e.Seq)
		}
	}
	if r.Refused == "" {
		return Retry{At: cut, Steps: r.Steps, Anew: r.Anew, Healed: r.Healed, Results: r.Results}
	}
	return r
}

// heal has a step complete with a result.
func (r *Retry) heal(id string, m *made, result json.RawMessage) {
	if r.Results == nil {
		r.Results = map[string]json.RawMessage{}
	}
	r.Healed, r.Results[id] = append(r.Healed, m.String()), result
}

// undone lists the undo functions that came to their end.
func (f *retrier) undone() string {
	var names []string
	for _, id := range f.order {
		if m := f.steps[id]; m.undo && m.done() {
			names = append(names, m.String())
		}
	}
	return list(names)
}

// refuse notes why there is no retry: the first reason, but one that a result of a step would mend comes before others.
func (r *Retry) refuse(of *made, why string) bool {
	if r.Refused != "" && (of == nil || r.Result != "") {
		return false
	}
	if r.Refused = why; of != nil {
		r.Result = of.String()
	}
	return true
}

// list says a few names, quoted.
func list(names []string) string {
	const most = 3
	var b strings.Builder
	for i, name := range names[:min(len(names), most)] {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(strconv.Quote(name))
	}
	if n := len(names) - most; n > 0 {
		fmt.Fprintf(&b, " and %d more", n)
	}
	return b.String()
}

// Tokens are those of the hooks that are open behind an event.
func (h *History) Tokens(at int64) (list []Token) {
	open := map[string]string{}
	for i := range h.Events {
		switch e := &h.Events[i]; {
		case e.Seq > at:
		case e.Type == world.HookCreated:
			open[e.ID] = e.Token
		case e.Type == world.HookDisposed:
			delete(open, e.ID)
		case e.Type == world.RunContinued:
			for id := range open {
				if !slices.Contains(e.Next.Hooks, id) {
					delete(open, id)
				}
			}
		}
	}
	for id, token := range open {
		list = append(list, Token{id, token})
	}
	slices.SortFunc(list, func(a, b Token) int { return strings.Compare(a.Hook, b.Hook) })
	return list
}
