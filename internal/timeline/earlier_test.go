package timeline

import (
	"fmt"
	"testing"
	"time"

	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/journal"
)

// TestAttemptsAddUp: what is told of earlier attempts adds up to the number of the last, whatever the journal or the task of the
// step has kept.
func TestAttemptsAddUp(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	attempts := func(from, to int) (all []world.Event) {
		for n := from; n <= to; n++ {
			all = append(all, world.Event{Type: world.StepStarted, ID: "step_1", Attempt: n, Time: at},
				world.Event{Type: world.StepRetrying, ID: "step_1", Attempt: n, Time: at, RetryAt: at.Add(time.Hour), Error: &world.Error{Message: "card refused"}})
		}
		return all
	}
	for name, test := range map[string]struct {
		log, task []world.Event
		want      string
	}{
		"few":                 {attempts(1, 3), nil, "3 × card refused"},
		"as many as are kept": {attempts(1, 10), nil, "10 × card refused"},
		"more":                {attempts(1, 18), nil, "7 × no longer kept, 11 × card refused"},
		"of a task":           {nil, attempts(9, 18), "8 × no longer kept, 10 × card refused"},
		"a task's, few":       {nil, attempts(1, 2), "2 × card refused"},
		"lost ones":           {append(attempts(1, 1), attempts(4, 4)...), nil, "1 × card refused, 2 × its process died, 1 × card refused"},
	} {
		j := journal.New("r", true)
		j.Add(world.Event{Seq: 1, Type: world.RunCreated, Time: at, Birth: &world.Birth{Workflow: "w"}})
		j.Add(world.Event{Seq: 2, Type: world.StepCreated, ID: "step_1", Kind: world.KindTask, Name: "charge", Time: at})
		for i, e := range test.log {
			e.Seq = int64(3 + i)
			j.Add(e)
		}
		if test.task != nil {
			j.AddTask(&world.Task{Step: "step_1", History: test.task})
		}
		got, n := "", 0
		for _, a := range Earlier(j.Entry("step_1")) {
			text := a.Message
			switch {
			case a.Lost:
				text = Lost
			case a.Past:
				text = Past
			}
			if got != "" {
				got += ", "
			}
			got += fmt.Sprintf("%d × %s", a.Count, text)
			n += a.Count
		}
		if got != test.want || n != j.Entry("step_1").Attempt {
			t.Errorf("%s: got %q, %d attempts of %d; want %q", name, got, n, j.Entry("step_1").Attempt, test.want)
		}
	}
}
