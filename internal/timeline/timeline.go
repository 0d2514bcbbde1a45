// Package timeline words the entries of a run's journal for people: the command line and the web UI say the same of a step, a wait or a hook.
package timeline

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/stepwell/stepwell/internal/human"
	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/journal"
)

// Kind is what people call the kind of an entry: step, undo, wait, or what the log says.
func Kind(en *journal.Entry) string {
	switch en.Kind {
	case world.KindClosure, world.KindTask:
		if en.Undo() {
			return "undo"
		}
		return "step"
	case world.KindSleep, world.KindCondition:
		return "wait"
	default:
		if en.Attends() != "" {
			return "heartbeat"
		}
		return string(en.Kind) // event, hook, child, await, patch
	}
}

// Began is from when on people count how long an entry takes: a step's last attempt, or the end of it where the next is to come; a wait from its
// creation.
func Began(en *journal.Entry) time.Time {
	switch {
	case en.Status == journal.EntryPending && !en.CompletedAt.IsZero():
		return en.CompletedAt
	case !en.AttemptAt.IsZero():
		return en.AttemptAt
	}
	return en.CreatedAt
}

// Took is how long an entry took, or has taken so far; "" of what takes no time.
func Took(en *journal.Entry, now time.Time) string {
	switch {
	case en.Kind == world.KindPatch, en.Kind.Posts():
		return ""
	case en.CompletedAt.IsZero() || en.Status == journal.EntryPending:
		return human.Span(now.Sub(Began(en)))
	default:
		return human.Span(en.CompletedAt.Sub(Began(en)))
	}
}

// Attempts are earlier attempts of a step, one behind the other, that ended in the same way.
type Attempts struct {
	Count   int
	Message string // of the error; "" where they were lost
	Where   string // file:line
	Lost    bool   // they began and were never heard of again
	Past    bool   // they are so long ago that nothing of them is kept
}

// Lost is said of attempts that began and were never heard of again.
const Lost = "its process died"

// Past is said of attempts of which nothing is kept.
const Past = "no longer kept"

// Earlier lists how attempts ended before the one that counts, in order; those of which nobody heard are among them.
func Earlier(en *journal.Entry) (list []Attempts) {
	add := func(a Attempts) {
		if n := len(list); n > 0 && list[n-1].Message == a.Message && list[n-1].Where == a.Where && list[n-1].Lost == a.Lost && !list[n-1].Past {
			list[n-1].Count++
			return
		}
		a.Count = 1
		list = append(list, a)
	}
	ended := slices.Clone(en.Earlier)
	slices.SortStableFunc(ended, func(a, b journal.AttemptError) int { return cmp.Compare(a.Attempt, b.Attempt) }) // some are heard of late
	next := 1 + en.Past
	if en.Past > 0 {
		list = append(list, Attempts{Count: en.Past, Past: true})
	}
	if en.Status == journal.EntryPending && en.Error != nil { // the last attempt has failed, and the next is to come
		ended = append(ended, journal.AttemptError{Attempt: en.Attempt, Message: en.Error.Message, Where: en.Error.Where})
	}
	for _, e := range ended {
		for ; e.Attempt > next; next++ {
			add(Attempts{Lost: true})
		}
		add(Attempts{Message: e.Message, Where: e.Where})
		next = max(next, e.Attempt+1)
	}
	for ; next < en.Attempt; next++ {
		add(Attempts{Lost: true})
	}
	return list
}

// Said is what a step's body said last of how far it is; "" where it said nothing.
func Said(en *journal.Entry, now time.Time, width int) string {
	p := en.Progress
	if p == nil {
		return ""
	}
	text := "progress " + human.Fold(string(p.Value), width)
	if p.Attempt != en.Attempt {
		text += fmt.Sprintf(" of attempt %d", p.Attempt)
	}
	return text + " (" + human.Relative(p.At, now) + ")"
}

// BeginsBy says until when a step is to begin that has not; "" where it may whenever it can.
func BeginsBy(en *journal.Entry, now time.Time) string {
	if en.Status != journal.EntryPending || en.Attempt > 0 || en.Until.IsZero() {
		return ""
	}
	return "to begin until " + human.When(en.Until, now)
}

// Waited says until when an entry waits, or how its wait ended where nothing came; "" where there is nothing to say.
func Waited(en *journal.Entry, now time.Time) string {
	switch {
	case en.Status == journal.EntryWaiting && !en.Until.IsZero() && en.Listens:
		return "until " + human.When(en.Until, now) + ", " + listens
	case en.Status == journal.EntryWaiting && !en.Until.IsZero():
		return "until " + human.When(en.Until, now)
	case en.Status == journal.EntryWaiting && en.Listens:
		return listens
	case en.Outcome == world.OutcomeWoken:
		return "woken"
	case en.Outcome == world.OutcomeDue && en.Kind != world.KindSleep:
		return "timed out"
	}
	return ""
}

// listens is said of a wait for an event that gets what is published, too.
const listens = "also when it is published"

// GivenUp says what ended before a dropped entry did; segment is the run's.
func GivenUp(en *journal.Entry, segment int) string {
	if en.Segment < segment {
		return "given up when the run continued as new"
	}
	return "given up when the run ended"
}

// Late says what came to a run before its end and was not read.
func Late(l *world.Late) string {
	var text string
	switch l.Type {
	case world.CancelRequested:
		text = "a cancel"
	case world.RunPaused:
		text = "a pause"
	case world.RunResumed:
		text = "a resume"
	case world.SignalReceived:
		text = "event " + l.Name
	case world.HookReceived:
		text = "a payload for a hook"
	default:
		text = string(l.Type)
	}
	if l.By != "" {
		text += " by " + l.By
	}
	if l.Reason != "" {
		text += ": " + l.Reason
	}
	return text
}

// LateFor says what to call a delivery that a run did not read before its end, and what that means: a cancel of a run that ended cancelled came too late for nothing.
func LateFor(status world.Status, l *world.Late) (name, means string) {
	if l.Type == world.CancelRequested && status == world.Cancelled {
		return "asked again", "the run was about to end cancelled"
	}
	return "too late", "the run ended before it read it"
}

// Undone says how far the undo of a run's last segment has come; "" where there is none.
func Undone(j *journal.Journal) string {
	count := map[journal.EntryStatus]int{}
	for _, en := range j.Entries {
		if en.Undo() && en.Segment == j.Segment {
			count[en.Status]++
		}
	}
	var parts []string
	for _, of := range []struct {
		status journal.EntryStatus
		word   string
	}{
		{journal.EntryCompleted, "done"}, {journal.EntryRunning, "running"}, {journal.EntryPending, "to be tried again"}, {journal.EntryFailed, "failed"},
		{journal.EntryDropped, "given up"},
	} {
		if n := count[of.status]; n > 0 {
			parts = append(parts, human.Count(n, "step")+" "+of.word)
		}
	}
	return strings.Join(parts, ", ")
}
