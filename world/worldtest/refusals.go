// Refusals: bad input gets a clear error and changes nothing.

package worldtest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/stepwell/stepwell/world"
)

type jsonText = json.RawMessage

func isErr(err, target error) bool { return errors.Is(err, target) }

var refusals = []check{
	{"a malformed birth is refused", "bad input: ErrInvalid, and nothing is written", func(r *rig) {
		for what, spoil := range map[string]func(*world.Commit){
			"no run":                 func(c *world.Commit) { c.Run = "" },
			"a run ID with a slash":  func(c *world.Commit) { c.Run = "a/b" },
			"a long run ID":          func(c *world.Commit) { c.Run = strings.Repeat("a", world.MaxRunID+1) },
			"no birth":               func(c *world.Commit) { c.Events[0].Birth = nil },
			"no workflow":            func(c *world.Commit) { c.Events[0].Birth.Workflow = "" },
			"a workflow with spaces": func(c *world.Commit) { c.Events[0].Birth.Workflow = "a b" },
			"an unprintable key":     func(c *world.Commit) { c.Events[0].Birth.Key = "a\x00" },
			"a long key":             func(c *world.Commit) { c.Events[0].Birth.Key = strings.Repeat("k", world.MaxKey+1) },
			"priority 4":             func(c *world.Commit) { c.Events[0].Birth.Priority = 4 },
			"priority -1":            func(c *world.Commit) { c.Events[0].Birth.Priority = -1 },
			"a long deployment":      func(c *world.Commit) { c.Events[0].Birth.Deployment = strings.Repeat("d", world.MaxName+1) },
			"a deployment with ESC":  func(c *world.Commit) { c.Events[0].Birth.Deployment = "\x1b[2J" },
			"an attribute's name":    func(c *world.Commit) { c.Events[0].Birth.Attributes = map[string]jsonText{"a\nb": jsonText("1")} },
			"a long build":           func(c *world.Commit) { c.Build = strings.Repeat("b", world.MaxName+1) },
			"a long worker ID":       func(c *world.Commit) { c.Worker = strings.Repeat("w", world.MaxRunID+1) },
			"first event 2":          func(c *world.Commit) { c.First = 2 },
			"event number 5":         func(c *world.Commit) { c.Events[0].Seq = 5 },
			"two births":             func(c *world.Commit) { c.Events = append(c.Events, c.Events[0]) },
		} {
			c := birth("greet")
			spoil(c)
			_, err := r.w.Commit(r.ctx, c)
			r.refused(err, world.ErrInvalid, what)
			if c.Run != "" {
				r.absent(c.Run)
			}
		}
		page, err := r.w.Runs(r.ctx, world.RunQuery{})
		r.must(err, "runs")
		r.same(len(page.Runs), 0, "runs")
	}},
	{"a birth that shows too much is refused", "attributes and context are bounded: ErrTooLarge, and nothing is written", func(r *rig) {
		many, wide := map[string]jsonText{}, map[string]string{}
		for i := range world.MaxAttributes + 1 {
			many[fmt.Sprint(i)], wide[fmt.Sprint(i)] = jsonText("1"), "1"
		}
		for what, with := range map[string]func(*world.Birth){
			"attributes": func(b *world.Birth) { b.Attributes = many },
			"attribute bytes": func(b *world.Birth) {
				b.Attributes = map[string]jsonText{"a": jsonText(`"` + strings.Repeat("x", world.MaxAttributeBytes) + `"`)}
			},
			"context": func(b *world.Birth) { b.Context = wide },
			"context bytes": func(b *world.Birth) {
				b.Context = map[string]string{"traceparent": strings.Repeat("x", world.MaxContextBytes)}
			},
		} {
			c := birth("greet", with)
			_, err := r.w.Commit(r.ctx, c)
			r.refused(err, world.ErrTooLarge, what)
			r.absent(c.Run)
		}
	}},
	{"a malformed worker is refused", "IDs, names and builds are bounded and printable, and so is all that is registered", func(r *rig) {
		long := make([]string, world.MaxRegistered+1)
		for i := range long {
			long[i] = fmt.Sprint("s", i)
		}
		for what, test := range map[string]struct {
			is   world.Worker
			want error
		}{
			"no ID":                {world.Worker{}, world.ErrInvalid},
			"a long ID":            {world.Worker{ID: strings.Repeat("w", 7<<20)}, world.ErrInvalid},
			"an ID with a control": {world.Worker{ID: "w\x1b[31m"}, world.ErrInvalid},
			"a name with ESC":      {world.Worker{ID: "wrkr_x", Name: "host\x1b]0;x\a"}, world.ErrInvalid},
			"a name that turns":    {world.Worker{ID: "wrkr_x", Name: "host\u202e1"}, world.ErrInvalid},
			"a long name":          {world.Worker{ID: "wrkr_x", Name: strings.Repeat("n", world.MaxName+1)}, world.ErrInvalid},
			"a long build":         {world.Worker{ID: "wrkr_x", Build: strings.Repeat("n", world.MaxName+1)}, world.ErrInvalid},
			"a bad workflow":       {world.Worker{ID: "wrkr_x", Classes: []world.Class{{Workflow: "a b"}}}, world.ErrInvalid},
			"a version below 0":    {world.Worker{ID: "wrkr_x", Classes: []world.Class{{Workflow: "a", Version: -1}}}, world.ErrInvalid},
			"a bad step":           {world.Worker{ID: "wrkr_x", Steps: []string{"a\x00"}}, world.ErrInvalid},
			"many steps":           {world.Worker{ID: "wrkr_x", Steps: long}, world.ErrTooLarge},
		} {
			_, err := r.w.Join(r.ctx, test.is)
			r.refused(err, test.want, what)
		}
		stats, err := r.w.Stats(r.ctx)
		r.must(err, "stats")
		r.same(len(stats.Workers), 0, "workers")
	}},
	{"a malformed turn is refused", "bad input: an error, and nothing is written", func(r *rig) {
		s := r.worker("greet").create("greet")
		r.unchanged(s.run, func() {
			for what, spoil := range map[string]func(*world.Commit){
				"a gap":                      func(c *world.Commit) { c.First++ },
				"an event with a far number": func(c *world.Commit) { c.Events[0].Seq = c.First + 3 },
				"an event behind the end": func(c *world.Commit) {
					c.Events = append([]world.Event{{Type: world.RunCompleted, Time: world.Now()}}, c.Events...)
				},
				"run_created again":              func(c *world.Commit) { c.Events[0] = birth("greet").Events[0] },
				"run_continued without a next":   func(c *world.Commit) { c.Events[0].Type = world.RunContinued },
				"a condition about no event":     func(c *world.Commit) { c.Conditions = []world.Condition{{Event: 7}} },
				"a condition about a signal":     func(c *world.Commit) { c.Conditions = []world.Condition{{Event: 0}} },
				"a child that is no birth":       func(c *world.Commit) { c.Births = []*world.Commit{{Run: newRun(), First: 1}} },
				"a hook without a token":         func(c *world.Commit) { c.Events[0] = hookCreated("hook_1", "") },
				"a task without a step":          func(c *world.Commit) { c.Tasks = []world.Task{{Name: "task"}} },
				"a task that another is to hold": func(c *world.Commit) { c.Tasks = []world.Task{{Step: "s", Name: "task", Worker: "w"}} },
				"an act as a send":               func(c *world.Commit) { c.Send = []world.Delivery{*act(s.run, "", world.RunPaused)} },
			} {
				c := s.next(signalEvent("a"))
				spoil(c)
				_, err := r.w.Commit(r.ctx, c)
				r.refused(err, world.ErrInvalid, what)
			}
		})
		s.append(signalEvent("a"))
	}},
	{"what a person says is bounded", "a reason, and who acts, are bounded in acts and in mail, also in that of a commit: ErrInvalid, and nothing is written", func(r *rig) {
		s, other := r.worker("greet").create("greet"), r.worker("greet").create("greet")
		r.unchanged(s.run, func() {
			for what, bad := range map[string]world.Event{
				"a reason": {Reason: strings.Repeat("x", world.MaxReason+1)}, "a reason that is no text": {Reason: "\xff"},
				"who acts": {By: strings.Repeat("x", world.MaxBy+1)}, "who acts, in two lines": {By: "a\nb"},
			} {
				for _, d := range []*world.Delivery{
					act(s.run, "", world.RunPaused), act(s.run, "", world.RunResumed), act(s.run, "", world.RunCancelled), {Run: s.run, Events: []world.Event{{Type: world.CancelRequested}}},
				} {
					e := &d.Events[0]
					e.By, e.Reason = bad.By, bad.Reason
					_, err := r.w.Deliver(r.ctx, d)
					r.refused(err, world.ErrInvalid, what+" of "+string(e.Type))
				}
				c := other.next(signalEvent("a"))
				c.Send = []world.Delivery{{Run: s.run, Events: []world.Event{{Type: world.CancelRequested, By: bad.By, Reason: bad.Reason}}}}
				_, err := r.w.Commit(r.ctx, c)
				r.refused(err, world.ErrInvalid, what+" of what a commit sends")
			}
		})
	}},
	{"an oversized commit is refused", "a commit holds at most MaxCommit bytes: ErrTooLarge, and nothing is written", func(r *rig) {
		s := r.worker("greet").create("greet")
		big := func(n int) world.Event {
			return world.Event{Type: world.SignalReceived, Name: "a", Payload: jsonText(`"` + strings.Repeat("x", n) + `"`)}
		}
		r.unchanged(s.run, func() {
			_, err := r.w.Commit(r.ctx, s.next(big(world.MaxCommit)))
			r.refused(err, world.ErrTooLarge, "one large event")
			_, err = r.w.Commit(r.ctx, s.next(big(world.MaxCommit/2), big(world.MaxCommit/2)))
			r.refused(err, world.ErrTooLarge, "two events that are too large together")
			_, err = r.w.Deliver(r.ctx, &world.Delivery{Run: s.run, Events: []world.Event{big(world.MaxCommit)}})
			r.refused(err, world.ErrTooLarge, "a large delivery")
			attributes := map[string]json.RawMessage{"a": big(world.MaxCommit).Payload}
			c := birth("greet", func(b *world.Birth) { b.Attributes = attributes })
			_, err = r.w.Commit(r.ctx, c)
			r.refused(err, world.ErrTooLarge, "a birth with a large attribute")
			r.absent(c.Run)
			_, err = r.w.Commit(r.ctx, s.next(world.Event{Type: world.RunContinued, Next: &world.Continuation{Attributes: attributes}}))
			r.refused(err, world.ErrTooLarge, "a continuation with a large attribute")
		})
		s.append(big(world.MaxCommit - 100))
		events := r.events(s.run)
		if got := len(events[len(events)-1].Payload); got != world.MaxCommit-98 {
			r.Fatalf("the largest event came back with %d bytes, want %d", got, world.MaxCommit-98)
		}
	}},
	{"a malformed delivery is refused", "bad input: ErrInvalid, and the inbox is as it was", func(r *rig) {
		id := r.createRun("greet")
		r.unchanged(id, func() {
			for what, d := range map[string]*world.Delivery{
				"nothing":                    {Run: id},
				"two events":                 {Run: id, Events: []world.Event{signalEvent("a"), signalEvent("b")}},
				"no run and no token":        {Events: []world.Event{signalEvent("a")}},
				"run and token":              {Run: id, Token: "t", Events: []world.Event{{Type: world.HookReceived}}},
				"an event with a number":     {Run: id, Events: []world.Event{{Seq: 2, Type: world.SignalReceived, Name: "a"}}},
				"a signal without a name":    signal(id, "", ""),
				"a signal with a newline":    signal(id, "", "a\nb"),
				"an unprintable delivery ID": signal(id, "\x01", "a"),
				"a creation":                 {Run: id, Events: []world.Event{stepCreated("s", world.KindClosure)}},
				"an end that is no act":      {Run: id, Events: []world.Event{{Type: world.RunCancelled}}},
				"a signal as an act":         {Run: id, Act: true, Events: []world.Event{signalEvent("a")}},
				"a signal by token":          {Token: "t", Events: []world.Event{signalEvent("a")}},
				"a task's end and another step's": {Task: &world.TaskKey{Run: id, Step: "s", Attempt: 1}, Worker: "w",
					Events: []world.Event{{Type: world.StepCompleted, ID: "t", Attempt: 1}, {Type: world.StepCompleted, ID: "s", Attempt: 1}}},
				"a task's end and its run's": {Task: &world.TaskKey{Run: id, Step: "s", Attempt: 1}, Worker: "w",
					Events: []world.Event{{Type: world.RunCompleted, ID: "s"}, {Type: world.StepCompleted, ID: "s", Attempt: 1}}},
				"a task's end without an end": {Task: &world.TaskKey{Run: id, Step: "s", Attempt: 1}, Worker: "w",
					Events: []world.Event{{Type: world.StepStarted, ID: "s"}}},
			} {
				_, err := r.w.Deliver(r.ctx, d)
				r.refused(err, world.ErrInvalid, what)
			}
		})
	}},
	{"a bad cursor is refused", "a cursor that the world did not make: ErrInvalid", func(r *rig) {
		id := r.createRun("greet")
		for _, cursor := range []string{"x", "e", "e-1", "e01", "1", "e1 "} {
			_, err := r.w.Events(r.ctx, id, world.EventQuery{Cursor: cursor})
			r.refused(err, world.ErrInvalid, "events from "+cursor)
		}
		for _, cursor := range []string{"x", "not a cursor", "\x00"} {
			_, err := r.w.Runs(r.ctx, world.RunQuery{Cursor: cursor})
			r.refused(err, world.ErrInvalid, "runs from "+cursor)
		}
	}},
	{"what is unknown is not found", "unknown runs and tokens: ErrNotFound", func(r *rig) {
		r.absent("wrun_nobody")
		_, err := r.w.Deliver(r.ctx, signal("wrun_nobody", "", "a"))
		r.refused(err, world.ErrNotFound, "a signal")
		_, err = r.w.Deliver(r.ctx, act("wrun_nobody", "", world.RunCancelled))
		r.refused(err, world.ErrNotFound, "a forced cancel")
		_, err = r.w.Deliver(r.ctx, &world.Delivery{Token: "nobody", Events: []world.Event{{Type: world.HookReceived}}})
		r.refused(err, world.ErrNotFound, "a payload")
	}},
	{"an ended context is heard", "a method whose context ends returns its error", func(r *rig) {
		id := r.createRun("greet")
		ctx, stop := context.WithCancel(r.ctx)
		stop()
		_, commitErr := r.w.Commit(ctx, birth("greet"))
		_, deliverErr := r.w.Deliver(ctx, signal(id, "", "a"))
		_, eventsErr := r.w.Events(ctx, id, world.EventQuery{})
		_, claimErr := r.w.Claim(ctx, world.ClaimQuery{Worker: "w"})
		_, runErr := r.w.Run(ctx, id)
		for what, err := range map[string]error{"commit": commitErr, "deliver": deliverErr, "events": eventsErr, "take": claimErr, "run": runErr} {
			r.refused(err, context.Canceled, what)
		}
	}},
	{"a closed world says so", "closing twice is legal; after it every call gets ErrClosed", func(r *rig) {
		k := r.worker("greet")
		s := k.create("greet")
		r.must(r.w.Close(), "close")
		r.must(r.w.Close(), "close again")
		_, commitErr := r.w.Commit(r.ctx, s.next(signalEvent("a")))
		_, outcomeErr := r.w.Outcome(r.ctx, s.next(signalEvent("a")))
		_, deliverErr := r.w.Deliver(r.ctx, signal(s.run, "", "a"))
		_, eventsErr := r.w.Events(r.ctx, s.run, world.EventQuery{})
		_, joinErr := r.w.Join(r.ctx, world.Worker{ID: "wrkr_x"})
		_, claimErr := r.w.Claim(r.ctx, world.ClaimQuery{Worker: k.id})
		_, heartbeatErr := r.w.Heartbeat(r.ctx, world.HeartbeatQuery{Worker: k.id})
		_, runErr := r.w.Run(r.ctx, s.run)
		_, runsErr := r.w.Runs(r.ctx, world.RunQuery{})
		_, hooksErr := r.w.Hooks(r.ctx, world.HookQuery{})
		_, statsErr := r.w.Stats(r.ctx)
		_, sweepErr := r.w.Sweep(r.ctx, 1)
		for what, err := range map[string]error{
			"commit": commitErr, "outcome": outcomeErr, "deliver": deliverErr, "events": eventsErr, "join": joinErr, "take": claimErr,
			"beat": heartbeatErr, "leave": r.w.Leave(r.ctx, k.id), "run": runErr, "runs": runsErr, "hooks": hooksErr, "stats": statsErr,
			"sweep": sweepErr,
		} {
			r.refused(err, world.ErrClosed, what)
		}
	}},
}
