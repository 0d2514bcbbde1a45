package rules_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/rules"
)

func act(t world.EventType) *world.Delivery {
	return &world.Delivery{Run: "r", Act: true, Events: []world.Event{{Type: t}}}
}

// TestAct holds what each act comes to in each state of a run.
func TestAct(t *testing.T) {
	pause, resume, cancel, wake := act(world.RunPaused), act(world.RunResumed), act(world.RunCancelled), act(world.RunResumed)
	wake.Events[0].Outcome = world.OutcomeWoken
	type deed = rules.Deed
	none, appended, posted := deed{}, deed{Append: true}, deed{Post: true}
	for name, test := range map[string]struct {
		run                         rules.Acted
		pause, resume, cancel, wake deed
		over                        bool // all are refused, but what is cancelled can be cancelled
	}{
		"idle":                        {run: rules.Acted{Live: true}, pause: appended, resume: none, cancel: appended, wake: none},
		"idle, an act waits":          {run: rules.Acted{Live: true, Waits: true}, pause: posted, resume: posted, cancel: appended, wake: none},
		"owned":                       {run: rules.Acted{Live: true, Owned: true}, pause: posted, resume: posted, cancel: appended, wake: none},
		"owned and paused":            {run: rules.Acted{Live: true, Owned: true, Paused: true}, pause: posted, resume: posted, cancel: appended, wake: none},
		"owned, and was blocked":      {run: rules.Acted{Live: true, Owned: true, Blocked: true}, pause: posted, resume: posted, cancel: appended, wake: none},
		"paused":                      {run: rules.Acted{Live: true, Paused: true}, pause: none, resume: appended, cancel: appended, wake: none},
		"paused, an act waits":        {run: rules.Acted{Live: true, Paused: true, Waits: true}, pause: posted, resume: deed{Post: true, Ends: true}, cancel: appended, wake: none},
		"delayed":                     {run: rules.Acted{Live: true, Delayed: true}, pause: appended, resume: none, cancel: appended, wake: deed{Retry: true}},
		"delayed and paused":          {run: rules.Acted{Live: true, Delayed: true, Paused: true}, pause: none, resume: appended, cancel: appended, wake: deed{Retry: true}},
		"delayed, blocked and paused": {run: rules.Acted{Live: true, Delayed: true, Blocked: true, Paused: true}, pause: none, resume: deed{Retry: true, Append: true}, cancel: appended, wake: none},
		"blocked":                     {run: rules.Acted{Live: true, Blocked: true}, pause: appended, resume: deed{Retry: true}, cancel: appended, wake: deed{Retry: true}},
		"blocked, an act waits":       {run: rules.Acted{Live: true, Blocked: true, Waits: true}, pause: posted, resume: deed{Retry: true, Post: true}, cancel: appended, wake: deed{Retry: true}},
		"blocked and paused":          {run: rules.Acted{Live: true, Blocked: true, Paused: true}, pause: none, resume: deed{Retry: true, Append: true}, cancel: appended, wake: none},
		"blocked, paused, and queued": {run: rules.Acted{Live: true, Blocked: true, Paused: true, Waits: true}, pause: posted, resume: deed{Retry: true, Post: true, Ends: true}, cancel: appended, wake: none},
		"completed":                   {run: rules.Acted{End: world.RunCompleted}, over: true},
		"failed":                      {run: rules.Acted{End: world.RunFailed}, over: true},
		"cancelled":                   {run: rules.Acted{End: world.RunCancelled}, over: true},
		"over and damaged":            {run: rules.Acted{}, over: true},
	} {
		for what, sub := range map[string]struct {
			d    *world.Delivery
			want deed
		}{"pause": {pause, test.pause}, "resume": {resume, test.resume}, "cancel": {cancel, test.cancel}, "wake": {wake, test.wake}} {
			t.Run(name+"/"+what, func(t *testing.T) {
				got, err := rules.Act(sub.d, test.run)
				refused := test.over && !(sub.d == cancel && test.run.End == world.RunCancelled)
				if got != sub.want || errors.Is(err, world.ErrTerminal) != refused || err != nil && !refused {
					t.Errorf("got %+v, %v; want %+v, refused %t", got, err, sub.want, refused)
				}
				waits := test.run
				waits.Waits = !waits.Waits
				if other, _ := rules.Act(sub.d, waits); !test.run.Queues(sub.d) && other != got {
					t.Errorf("what waits counts, though it need not be known: %+v and %+v", got, other)
				}
			})
		}
	}
}

func TestWakeAfter(t *testing.T) {
	now := time.UnixMicro(1000)
	for name, test := range map[string]struct {
		running    bool
		wake, want time.Time
	}{
		"running":              {running: true, want: now},
		"running, and asleep":  {running: true, wake: now.Add(1), want: now},
		"pending, never":       {},
		"pending, delayed":     {wake: now.Add(1), want: now.Add(1)},
		"pending, due earlier": {wake: now.Add(-1), want: now},
	} {
		if got := rules.WakeAfter(test.running, test.wake, now); !got.Equal(test.want) {
			t.Errorf("%s: got %v, want %v", name, got, test.want)
		}
	}
	if got := rules.Later(now, now.Add(1)); !got.Equal(now.Add(1)) {
		t.Errorf("an event before the last one: %v", got)
	}
}
