package journal

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/stepwell/stepwell/world"
)

// mostDone is how many completed steps are named that a new run would do again.
const mostDone = 3

// Again describes what a new run repeats that takes over nothing after an event; 0: nothing at all.
// "": nothing that completed.
func (j *Journal) Again(behind int64) string {
	var done []string
	for _, en := range j.Entries {
		acts := en.Kind == world.KindClosure || en.Kind == world.KindTask || en.Kind == world.KindChild
		if acts && en.Status == EntryCompleted && en.ended > behind && !en.Compensates() {
			done = append(done, strconv.Quote(en.Key().String()))
		}
	}
	if len(done) == 0 {
		return ""
	}
	some := strings.Join(done[:min(len(done), mostDone)], ", ")
	if n := len(done); n > mostDone {
		some += fmt.Sprintf(" and %d more", n-mostDone)
	}
	what := "completed steps"
	if behind > 0 {
		what += fmt.Sprintf(" after event %d", behind)
	}
	return what + " run again, with new idempotency keys: " + some
}
