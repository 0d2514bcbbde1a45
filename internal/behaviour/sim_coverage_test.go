package behaviour_test

// This file counts what happened in the simulated runs, so that the laws are known to have been held against something.

import (
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stepwell/stepwell/world"
)

// simCoverage counts what the logs of a simulation show.
type simCoverage struct {
	mu   sync.Mutex
	seen map[string]int // guarded by mu
}

// simMustSee is what some run of the usual seeds must have met.
var simMustSee = []string{
	"attempt abandoned", "attempt failed", "await: cancelled", "await: completed", "await: failed", "await: unknown", "cancel by operator",
	"cancel by parent", "cancel ends a pause", "child: cancelled", "child: completed", "child: exists", "child: failed", "child: loser",
	"clean-up after a cancel", "clean-up tried again", "detached outlives its parent", "ended without its code", "event in time", "event timed out",
	"attribute", "await: timed out", "child left by a segment", "continued", "event kept for a segment", "forced", "hook conflict", "hook opened again",
	"hook received", "patched", "pause and resume", "retried", "retried once more", "retry woken", "retry woken in the queue", "run completed", "run failed", "run timed out", "start woken", "token of two runs", "undone after a cancel",
	"blob read", "failed as nobody has it", "hook heard", "hook silent", "in line for a limit", "in line for a rate", "not begun in time", "replaced", "restarted in place",
	"batch full", "batch in time", "batch: another does not fit", "debounce: quiet", "debounce: longest", "gathers: woken",
	"gathers: cancelled", "gathers: not begun in time",
	"gathers: held", "gathers: made again", "merged", "merged before it was answered", "gathers before it was answered",
	"merged or begun, and not answered", "clock leapt", "clock set back", "run not begun in time",
	"sent", "sent to a run that is over", "step undone that had but begun", "undone after a failure", "undone after a timeout", "undone by its code", "unpatched", "value kept apart", "woken",
}

func (c *simCoverage) note(what string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.seen == nil {
		c.seen = map[string]int{}
	}
	c.seen[what]++
}

// lacks reports whether something was not met as yet.
func (c *simCoverage) lacks() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.ContainsFunc(simMustSee, func(what string) bool { return c.seen[what] == 0 })
}

// report fails the test where something was never met.
func (c *simCoverage) report(t *testing.T) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, what := range slices.Sorted(maps.Keys(c.seen)) {
		t.Logf("%6d %s", c.seen[what], what)
	}
	for _, what := range simMustSee {
		if c.seen[what] == 0 {
			t.Errorf("no run has met %q: the laws were not held against it", what)
		}
	}
}

// see counts what the logs of all runs of one plan show.
func (c *simCoverage) see(s *simulation, runs map[string]*simRun) {
	if s.aparts.Load() > 0 {
		c.note("value kept apart")
	}
	for what, n := range map[string]int64{"restarted in place": s.restarts.Load(), "hook heard": s.beaten.Load(), "in line for a limit": map[bool]int64{true: 1}[s.lined.Load()], "in line for a rate": map[bool]int64{true: 1}[s.paced.Load()]} {
		if n > 0 {
			c.note(what)
		}
	}
	holders := map[string]int{}
	for _, r := range runs {
		if r.merges() { // see checkGathers
			continue
		}
		c.seeRun(s, r, runs)
		tokens := map[string]bool{}
		for i := range r.events {
			if e := &r.events[i]; e.Type == world.HookCreated {
				tokens[e.Token] = true
			}
		}
		for token := range tokens {
			holders[token]++
		}
	}
	for _, n := range holders {
		if n > 1 {
			c.note("token of two runs")
		}
	}
}

func (c *simCoverage) seeRun(s *simulation, r *simRun, runs map[string]*simRun) {
	if r.Origin != nil {
		c.note("retried")
		if r.log.end != nil && r.log.end.Type == world.RunCompleted {
			c.note("retry completed")
		}
		if from := runs[r.Origin.Run]; from.Origin != nil {
			c.note("retried once more")
		}
	}
	paused := false
	for i := range r.events {
		e := &r.events[i]
		switch e.Type {
		case world.RunPaused:
			paused = true
		case world.RunResumed:
			c.note("pause and resume")
			paused = false
		case world.CancelRequested:
			if paused {
				c.note("cancel ends a pause")
			}
			if runs[e.By] != nil {
				c.note("cancel by parent")
			} else {
				c.note("cancel by operator")
			}
		case world.HookConflict:
			c.note("hook conflict")
		case world.HookReceived:
			c.note("hook received")
		case world.RunStarted:
			if e.Time.Before(r.events[0].Birth.NotBefore) {
				c.note("start woken")
			}
		case world.StepWoken:
			if r.log.queued[e.ID] {
				c.note("retry woken in the queue")
			} else {
				c.note("retry woken")
			}
		case world.StepRetrying, world.StepCompleted, world.StepFailed:
			c.seeStep(r, e)
		case world.WaitCompleted:
			c.seeWait(r, e)
		case world.StepCreated:
			if e.Kind == world.KindAwait && e.Peer != e.Name {
				c.note("await: another in its place")
			}
		case world.AttrSet:
			c.note("attribute")
		case world.RunContinued:
			c.note("continued")
			if len(e.Next.Unread) > 0 {
				c.note("event kept for a segment")
			}
		}
	}
	r.program.walk(func(n *simNode) {
		if n.Op == "blob" && r.log.completed(n.Name+simReads) {
			c.note("blob read")
		}
		if rounds := r.log.hooks[n.Name]; n.Op == "hook" && n.Timeout > 0 && len(rounds) > 0 && len(rounds[0].payloads) == 0 && !rounds[0].conflict && !rounds[0].closed.IsZero() {
			c.note("hook silent")
		}
		if e := r.log.ended[n.Name]; e != nil && e.Error != nil && e.Error.Code == world.CodeNotStarted {
			c.note("not begun in time")
		}
	})
	for name, next := range r.log.left {
		if r.log.kinds[r.log.made[name].ID] == world.KindChild && next != nil {
			c.note("child left by a segment")
		}
	}
	r.program.walk(func(n *simNode) {
		if n.Op == "comp" && n.Early && r.log.completed(n.Kids[1].Name) && !r.log.completed(n.Kids[0].Name) {
			c.note("step undone that had but begun")
		}
		if n.Op == "comp" && r.log.completed(n.Kids[1].Name) {
			switch {
			case r.program.segment(r.log.segment).Undoes && r.log.cancel == nil:
				c.note("undone by its code")
			case r.timedOut():
				c.note("undone after a timeout")
			case r.log.cancel != nil:
				c.note("undone after a cancel")
			default:
				c.note("undone after a failure")
			}
		}
	})
	for _, rounds := range r.log.hooks {
		if len(rounds) > 1 && !rounds[1].conflict {
			c.note("hook opened again")
		}
	}
	r.program.walk(func(n *simNode) {
		switch {
		case n.Op != "patch":
		case r.log.patches[n.Name]:
			c.note("patched")
		case r.log.made[n.Kids[1].Name] != nil:
			c.note("unpatched")
		}
	})
	switch end := r.log.end; {
	case end == nil:
	case r.forced():
		c.note("forced")
	case r.timedOut():
		c.note("run timed out")
	case end.Type == world.RunCancelled && s.withoutCode(r):
		c.note("ended without its code")
	case end.Type != world.RunCancelled:
		c.note(strings.ReplaceAll(string(end.Type), "_", " "))
	}
	if p := r.Parent; p != nil && p.Detached && before(runs[p.Run].log.end, r.log.end) {
		c.note("detached outlives its parent")
	}
}

func (c *simCoverage) seeStep(r *simRun, e *world.Event) {
	kind, undo := r.log.kinds[e.ID], strings.HasPrefix(r.log.names[e.ID], "undo-")
	cancelled := undo && r.log.cancel != nil && e.Seq > r.log.cancel.Seq
	switch {
	case e.Type == world.StepRetrying && e.Error.Code == world.CodeAbandoned:
		c.note("attempt abandoned")
	case e.Type == world.StepRetrying:
		c.note("attempt failed")
		if cancelled {
			c.note("clean-up tried again")
		}
	case cancelled:
		c.note("clean-up after a cancel")
	case kind == world.KindSend && e.Type == world.StepCompleted:
		c.note("sent")
	case kind == world.KindSend && e.Error.Code == world.CodeRunOver:
		c.note("sent to a run that is over")
	case kind != world.KindChild && kind != world.KindAwait:
	case e.Type == world.StepCompleted:
		c.note(string(kind) + ": completed")
	case kind == world.KindChild && e.Error.Code == world.CodeCancelled && e.Delivery == "":
		c.note("child: loser")
	default:
		c.note(string(kind) + ": " + map[string]string{
			"": "failed", world.CodeTimeout: "timed out", world.CodeCancelled: "cancelled", world.CodeRunExists: "exists", world.CodeNotFound: "unknown",
		}[e.Error.Code])
	}
}

func (c *simCoverage) seeWait(r *simRun, e *world.Event) {
	event := strings.HasPrefix(r.log.names[e.ID], "event-")
	switch {
	case e.Outcome == world.OutcomeWoken:
		c.note("woken")
	case event && e.Outcome == world.OutcomeDue:
		c.note("event timed out")
	case event:
		c.note("event in time")
	}
}
