package history

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stepwell/stepwell/world"
)

// failedRun is a log whose run handled the failure of "card", paid from "account", and failed with an error.
func failedRun(end *world.Error) *History {
	h := &History{Run: "wrun_1"}
	add := func(e world.Event) {
		e.Seq, e.Time = h.Last()+1, created.Add(time.Duration(len(h.Events))*time.Second)
		h.Events = append(h.Events, e)
	}
	step := func(id, name string, err *world.Error) {
		add(world.Event{Type: world.StepCreated, ID: id, Kind: world.KindClosure, Name: name})
		add(world.Event{Type: world.StepStarted, ID: id, Attempt: 1})
		if err != nil {
			add(world.Event{Type: world.StepFailed, ID: id, Attempt: 1, Error: err})
			return
		}
		add(world.Event{Type: world.StepCompleted, ID: id, Attempt: 1})
	}
	add(world.Event{Type: world.RunCreated, Birth: &world.Birth{Workflow: "order", Version: 1}})
	add(world.Event{Type: world.RunStarted})
	step("step_1", "card", &world.Error{Message: "declined", Where: "pay.go:7"})
	step("step_2", "account", nil)
	step("step_3", "ship", &world.Error{Message: "no truck", Where: "ship.go:9"})
	add(world.Event{Type: world.RunFailed, Error: end})
	return h
}

// TestWhatFailedARun: the step whose failure it was is known exactly, or none is: a text that is like a failure's says nothing.
func TestWhatFailedARun(t *testing.T) {
	t.Parallel()
	ship := world.Error{Message: "no truck", Where: "ship.go:9"}
	named := ship
	named.Step = "step_3"
	other := ship
	other.Step = "step_77"
	for name, c := range map[string]struct {
		end   world.Error
		at    int64
		steps []string
		word  string // of the refusal
	}{
		"named":                       {named, 10, []string{"ship"}, ""},
		"named, deep inside":          {world.Error{Message: "x", Causes: []*world.Error{{Message: "y", Causes: []*world.Error{&named}}}}, 10, []string{"ship"}, ""},
		"the text of a failure":       {world.Error{Message: "order: no truck"}, 11, nil, ""},
		"the text of a handled one":   {world.Error{Message: "declined"}, 11, nil, ""},
		"a step of another run":       {world.Error{Message: "x", Causes: []*world.Error{{Message: "no truck", Step: "step_77"}}}, 11, nil, ""},
		"and a place alone":           {other, 11, nil, ""},
		"handled, and both named":     {world.Error{Message: "x", Causes: []*world.Error{{Message: "declined", Step: "step_1"}, &named}}, 10, []string{"ship"}, ""},
		"handled, and it alone named": {world.Error{Message: "declined", Step: "step_1"}, 0, nil, `"account" ended after the step that failed`},
	} {
		got := failedRun(&c.end).Retry(nil)
		if c.word == "" && (got.At != c.at || !slices.Equal(got.Steps, c.steps) || got.Refused != "") || !strings.Contains(got.Refused, c.word) {
			t.Errorf("%s: got %+v, want event %d and steps %q, or a refusal: %s", name, got, c.at, c.steps, c.word)
		}
	}
}

// TestARetryNamesAllThatRunsAgain: of failures that were joined, also those behind the first.
func TestARetryNamesAllThatRunsAgain(t *testing.T) {
	t.Parallel()
	h := &History{Run: "wrun_1"}
	add := func(e world.Event) {
		e.Seq, e.Time = h.Last()+1, created.Add(time.Duration(len(h.Events))*time.Second)
		h.Events = append(h.Events, e)
	}
	add(world.Event{Type: world.RunCreated, Birth: &world.Birth{Workflow: "order", Version: 1}})
	add(world.Event{Type: world.RunStarted})
	if r := h.Retry(nil); r.Refused != "it has not failed: it is not over" {
		t.Errorf("of a run that goes on: %+v", r)
	}
	end := &world.Error{Message: "both"}
	for _, name := range []string{"card", "ship"} {
		err := &world.Error{Message: "no " + name}
		add(world.Event{Type: world.StepCreated, ID: "step_" + name, Kind: world.KindClosure, Name: name})
		add(world.Event{Type: world.StepStarted, ID: "step_" + name, Attempt: 1})
		add(world.Event{Type: world.StepFailed, ID: "step_" + name, Attempt: 1, Error: err})
		end.Causes = append(end.Causes, &world.Error{Message: err.Message, Step: "step_" + name})
	}
	add(world.Event{Type: world.RunFailed, Error: end})
	r := h.Retry(nil)
	if want := `a new run continues from the steps that failed, "card", "ship"`; r.At != 4 || r.Refused != "" || r.Does() != want {
		t.Errorf("got %+v, %s; want %s", r, r.Does(), want)
	}
}

// TestInsteadOfARetrySaysWhatIsUndone: a fork of a run that undid what it did goes on as if that were done.
func TestInsteadOfARetrySaysWhatIsUndone(t *testing.T) {
	t.Parallel()
	for _, end := range []world.EventType{world.RunCancelled, world.RunFailed} {
		for _, undone := range []bool{true, false} {
			h := failedRun(&world.Error{Message: "no"})
			events := h.Events[:len(h.Events)-1]
			events = append(events, world.Event{Type: world.CancelRequested})
			if undone {
				events = append(events,
					world.Event{Type: world.StepCreated, ID: "step_9", Kind: world.KindClosure, Name: "refund", Path: world.UndoPath + "[0]"},
					world.Event{Type: world.StepCompleted, ID: "step_9", Attempt: 1})
			}
			h.Events = append(events, world.Event{Type: end, Error: &world.Error{Message: "no"}})
			for i := range h.Events {
				h.Events[i].Seq = int64(i + 1)
			}
			r := h.Retry(nil)
			if end == world.RunFailed && !undone {
				continue // it can be retried
			}
			text := r.Refused + "; instead: " + r.Instead()
			if got := strings.Contains(text, `"refund"`); r.Refused == "" || got != undone || (r.Undone != "") != undone {
				t.Errorf("%s, undone %v: %s", end, undone, text)
			}
			if fork := strings.Contains(r.Instead(), "fork"); fork && undone && !strings.Contains(r.Instead(), "undone") {
				t.Errorf("%s: a fork is proposed, and not said that what it did is undone: %s", end, r.Instead())
			}
		}
	}
}

// TestARetryTakesWhatTheCodeUndid: what UndoAll runs is a step as any.
func TestARetryTakesWhatTheCodeUndid(t *testing.T) {
	t.Parallel()
	h := failedRun(&world.Error{Message: "no"})
	last := len(h.Events) - 1
	h.Events = append(h.Events[:last:last],
		world.Event{Type: world.StepCreated, ID: "step_9", Kind: world.KindClosure, Name: "refund", Path: "go[0]/" + world.UndoNowPath + "[1]"},
		world.Event{Type: world.StepCompleted, ID: "step_9", Attempt: 1},
		world.Event{Type: world.RunFailed, Error: &world.Error{Message: "no"}})
	for i := range h.Events {
		h.Events[i].Seq = int64(i + 1)
	}
	if r := h.Retry(nil); r.Refused != "" || r.At != h.Last()-1 || r.Undone != "" {
		t.Errorf("Retry = %+v, want one that takes all but the end", r)
	}
}

// TestARetryTakesWhatCameBehindTheFailure of what was asked for before: results, events, payloads and waits that ended.
func TestARetryTakesWhatCameBehindTheFailure(t *testing.T) {
	t.Parallel()
	h := &History{Run: "wrun_1"}
	add := func(e world.Event) {
		e.Seq, e.Time = h.Last()+1, created.Add(time.Duration(len(h.Events))*time.Second)
		h.Events = append(h.Events, e)
	}
	add(world.Event{Type: world.RunCreated, Birth: &world.Birth{Workflow: "order", Version: 1}})
	add(world.Event{Type: world.RunStarted})
	add(world.Event{Type: world.StepCreated, ID: "step_1", Kind: world.KindClosure, Name: "a"})
	add(world.Event{Type: world.StepCreated, ID: "step_2", Kind: world.KindClosure, Name: "b"})
	add(world.Event{Type: world.WaitCreated, ID: "wait_1", Kind: world.KindSleep, Name: "nap", Until: created.Add(time.Hour)})
	add(world.Event{Type: world.HookCreated, ID: "hook_1", Name: "hook", Token: "t"})
	add(world.Event{Type: world.StepStarted, ID: "step_1", Attempt: 1})
	add(world.Event{Type: world.StepStarted, ID: "step_2", Attempt: 1})
	add(world.Event{Type: world.StepFailed, ID: "step_1", Attempt: 1, Error: &world.Error{Message: "no"}}) // 9
	add(world.Event{Type: world.SignalReceived, Name: "go", Delivery: "d"})
	add(world.Event{Type: world.StepCompleted, ID: "step_2", Attempt: 1})
	add(world.Event{Type: world.HookReceived, ID: "hook_1", Delivery: "e"})
	add(world.Event{Type: world.WaitCompleted, ID: "wait_1", Outcome: world.OutcomeWoken})
	add(world.Event{Type: world.StepCreated, ID: "step_3", Kind: world.KindClosure, Name: "c"})
	add(world.Event{Type: world.RunFailed, Error: &world.Error{Message: "no", Step: "step_1"}})
	r := h.Retry(nil)
	if r.Refused != "" || r.At != 8 || len(h.Tokens(r.At)) != 1 {
		t.Fatalf("the retry: %+v", r)
	}
	events, err := h.Fork(Cut{Run: "wrun_2", At: r.At, Late: true, Created: created.Add(time.Hour)})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range events {
		got = append(got, string(e.Type)+" "+e.Name+e.Delivery)
	}
	want := []string{
		"run_created ", "run_started ", "step_created b", "wait_created nap", "hook_created hook", "step_started ",
		"signal_received god", "step_completed ", "hook_received e", "wait_completed ",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%q, want\n%q", got, want)
	}
}
