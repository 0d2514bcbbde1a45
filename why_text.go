package stepwell

// This file words why a run does not move.

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/stepwell/stepwell/internal/engine"
	"github.com/stepwell/stepwell/internal/human"
	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/journal"
)

// heedTime is how long a body may take to heed the end of its context before the answer says that it has not.
const heedTime = 2 * time.Second

// String returns the answer as one sentence without a full stop: what the run waits for, until
// when, and what ends the wait. Times are absolute and relative, in the time zone of At.
func (w Why) String() string {
	s := w.sentence() + w.alsoText() + w.asideText() + w.lostText()
	if !w.StartBy.IsZero() {
		s += "; if it has not begun by " + human.When(w.StartBy, w.At) + " , it is cancelled"
	}
	if w.Mail > 0 && w.Kind != WhyOver {
		if w.Mail == 1 {
			return s + "; 1 delivery waits in its inbox"
		}
		s += fmt.Sprintf("; %d deliveries wait in its inbox", w.Mail)
	}
	return s
}

// asideText says what came and does not fit: the last of it, as it may be what the run waits for.
func (w Why) asideText() string {
	if len(w.Aside) == 0 {
		return ""
	}
	a := &w.Aside[len(w.Aside)-1]
	of := "event"
	if a.Hook != "" {
		of = "hook"
	}
	return fmt.Sprintf("; a payload of %s %s was set aside at %s because it does not fit (event %d of the log): %s",
		of, quote(a.Name), human.When(a.At, w.At), a.Seq, human.Cut(a.Reason, 200))
}

// lostText says what the code lost to waits that it left behind.
func (w Why) lostText() string {
	what, waits := human.Count(w.Lost, "payload"), "were taken by waits"
	switch w.Lost {
	case 0:
		return ""
	case 1:
		what, waits = "a payload", "was taken by a wait"
	}
	return fmt.Sprintf("; %s of event %s %s that nobody read: see docs/rules.md#8-wait-for-what-matters", what, quote(w.Event), waits)
}

// alsoText names what is open beside what was said.
func (w Why) alsoText() string {
	switch rest := w.More - len(w.Also); {
	case w.More == 0:
		return ""
	case len(w.Also) == 0:
		return fmt.Sprintf("; and for %d more", w.More)
	case rest > 0:
		return fmt.Sprintf("; also open: %s and %d more", strings.Join(w.Also, ", "), rest)
	default:
		return "; also open: " + strings.Join(w.Also, ", ")
	}
}

func (w Why) sentence() string {
	switch w.Kind {
	case WhyOver:
		return w.overText()
	case WhyCancelling:
		return w.cancelText()
	case WhyPaused:
		return w.pauseText()
	case WhyBlocked:
		return w.blockText()
	case WhyDelayed:
		return "pending" + w.until() + ": its start was delayed"
	case WhyGathers:
		text := "pending: it gathers inputs" + w.until()
		if w.Gathers > 0 {
			text += fmt.Sprintf(", %d so far", w.Gathers)
		}
		return text
	case WhyHeld:
		text := "pending: its workflow is held"
		if w.Status != world.Pending { // a fork or a retry
			text = "its workflow is held"
		}
		return w.act(text, w.Since) + "; it begins when the workflow is released"
	case WhyQueued:
		return "ready" + w.since() + ": the next worker with a free slot takes it"
	case WhyLimit:
		return w.limitText()
	case WhyNoWorker:
		return w.noWorkerText()
	case WhyWorking, WhyWorkerLost:
		return w.workerText()
	case WhyStalled:
		return "workflow code has not yielded" + w.since() + " on worker " + quote(w.Worker) + ": it loops, or waits for something outside of Stepwell"
	case WhySuspect:
		return w.quarantineText()
	case WhyRetry:
		return w.compensating() + "waiting to try " + w.step() + " again" + w.at() + w.attemptText()
	default:
		return w.waitText()
	}
}

// before is the run whose singleton it has.
func (w Why) before() string {
	if w.Peer == "" { // a release that did not note it made the run
		return "the run"
	}
	return "run " + w.peer("")
}

// limitText says what a run waits for that stands in line.
func (w Why) limitText() string {
	if w.Line == nil && w.Peer != "" {
		return "waits for " + w.before() + " to end, which was cancelled for it"
	}
	if w.Line == nil { // its row says no more
		return "in line for " + w.Waiting
	}
	if world.SingleOf(w.Line.Limit) != "" {
		s := "waits for " + w.before() + " to end, which had " + w.Line.SingleText() + " before it and was cancelled to make room for it"
		if w.Line.Before > 0 {
			s += fmt.Sprintf("; %s before it in line", human.Count(w.Line.Before, "run"))
		}
		return s
	}
	key, counts := "", "may be at work at once"
	if w.Line.Key != "" {
		key = ", key " + quote(w.Line.Key)
	}
	if w.Line.Per > 0 {
		counts = "may begin in " + human.SpanText(w.Line.Per)
	}
	s := fmt.Sprintf("in line for limit %s%s, of which %d %s", quote(w.Line.Limit), key, w.Line.Number, counts)
	switch n := w.Line.Before; {
	case w.Line.Number == 0:
		s = fmt.Sprintf("held by limit %s%s, which an operator has set to 0", quote(w.Line.Limit), key)
	case n == 0:
		return s + ": it is next" + w.turnText()
	case n >= world.MostCounted:
		return s + fmt.Sprintf(": behind %d runs or more", n) + w.turnText()
	}
	if w.Line.Before == 1 {
		return s + ": behind one run" + w.turnText()
	}
	return s + fmt.Sprintf(": behind %d runs", w.Line.Before) + w.turnText()
}

// turnText says when a rate lets in a run.
func (w Why) turnText() string {
	switch {
	case w.Line.At.IsZero() && w.Line.Per > 0 && w.Line.Number > 0:
		return ", and does not begin before the year 2262"
	case w.Line.At.IsZero():
		return ""
	}
	return ", and begins at " + w.Line.At.Format(time.RFC3339) + " at the earliest"
}

func (w Why) overText() string {
	s := w.act(string(w.Status), w.Since)
	if w.Status != world.Completed && w.Error != nil {
		s += ": " + errorText(w.Error)
	}
	if w.Block != nil {
		s += "; its stored data is damaged: " + human.Cut(w.Block.Message, 300)
	}
	return s
}

// act is what somebody did, when, and why.
func (w Why) act(done string, at time.Time) string {
	s := done
	if w.By != "" {
		s += " by " + human.Visible(w.By)
	}
	if !at.IsZero() {
		s += " at " + human.When(at, w.At)
	}
	if w.Reason != "" {
		s += ": " + human.Cut(w.Reason, 200)
	}
	return s
}

func (w Why) cancelText() string {
	s := w.act("cancel requested", w.Since)
	switch {
	case w.Undo && !w.Until.IsZero():
		return s + "; it compensates: waiting to try " + w.step() + " again" + w.at() + w.attemptText()
	case w.Undo:
		return s + "; it compensates, in " + w.step()
	case w.Step != "" && w.At.Sub(w.Since) > heedTime:
		return s + "; " + w.step() + " was told to stop and has not returned"
	case w.Step != "":
		return s + "; " + w.step() + " is ending"
	case w.Worker == "" && w.Workers == 0:
		return s + "; any worker will end it, but none is running"
	default:
		return s + "; it cleans up"
	}
}

func (w Why) pauseText() string {
	s := w.act("paused", w.Since)
	if w.Step != "" {
		s += "; step " + quote(w.Step) + " still runs and may finish"
	}
	return s
}

func (w Why) blockText() string {
	first, _, _ := strings.Cut(w.Block.Message, "\n")
	s := "blocked (" + w.Block.Code + ")" + w.since() + ": " + human.Cut(first, 300)
	crashed := w.Block.Code == world.CodeCrashLoop
	switch {
	case crashed && w.Block.Tries == 0:
		s += "; it will be tried once more, alone, when its turn comes"
	case w.Block.Tries == 0: // its row says so, and no worker
		return s + "; no worker has tried it"
	default:
		s += fmt.Sprintf("; tried %s", times(w.Block.Tries))
		if !w.Until.IsZero() {
			s += ", again" + w.at()
		}
	}
	if w.Workers == 0 {
		s += ", but no worker is running"
	}
	if w.Block.Code == world.CodeCorrupt {
		return s
	}
	if crashed && w.Block.Tries > 0 {
		s += "; deploy a build that does not crash, or cancel it"
	}
	if w.Block.Code == world.CodeDecode && w.By != "" {
		s += "; step worker " + w.By + " gave this result: deploy Go code whose type fits it, or fork the run with another result"
	}
	return s + "; nothing is lost"
}

func (w Why) quarantineText() string {
	return "step " + quote(w.Step) + " waits for its turn: its process died " + times(w.Deaths) + ", so it runs alone, when no other quarantined step does"
}

func times(n int) string {
	switch n {
	case 1:
		return "once"
	case 2:
		return "twice"
	default:
		return fmt.Sprintf("%d times", n)
	}
}

func (w Why) noWorkerText() string {
	what := "workflow " + quote(w.Workflow)
	if w.Version > 0 {
		what += fmt.Sprintf(" version %d", w.Version)
	}
	if w.Step != "" {
		what = "step " + quote(w.Step)
	}
	if w.Workers == 0 {
		return "ready" + w.since() + ", but no worker is running: start one that has " + what + w.holdsText()
	}
	there := ""
	if len(w.Versions) > 0 {
		there = " (there " + are(len(w.Versions)) + " " + strings.Trim(strings.ReplaceAll(fmt.Sprint(w.Versions), " ", ", "), "[]") + ")"
	}
	other := ""
	if w.Step != "" {
		other = ", or start its step worker if it is remote"
	}
	return "ready" + w.since() + ", but no worker has " + what + there + ": deploy one that does" + other + w.holdsText()
}

// holdsText says which places of limits a run has, and what becomes of them.
func (w Why) holdsText() (text string) {
	var kept, yielded []string
	for _, p := range w.Holds {
		of := "limit " + quote(p.Limit)
		if p.Key != "" {
			of += ", key " + quote(p.Key)
		}
		switch {
		case world.SingleOf(p.Limit) != "":
			kept = append(kept, p.SingleText())
		case w.Status == world.Pending:
			yielded = append(yielded, of)
		default:
			kept = append(kept, of)
		}
	}
	if len(yielded) > 0 {
		text = "; it holds up nobody in " + strings.Join(yielded, ", and in ") + " for longer than a minute"
	}
	if len(kept) > 0 {
		text += "; it keeps its place in " + strings.Join(kept, ", and in ") + " from others, until it ends: a cancel gives it back"
	}
	return text
}

func are(versions int) string {
	if versions == 1 {
		return "is version"
	}
	return "are versions"
}

func (w Why) workerText() string {
	in := ""
	if w.Step != "" {
		in = " in " + w.step() + w.since()
		if w.Attempt > 1 {
			in += fmt.Sprintf(", attempt %d", w.Attempt)
		}
		if w.Deaths >= quarantineDeaths {
			in += fmt.Sprintf(", alone, because its process died %s", times(w.Deaths))
		}
	}
	if w.Kind == WhyWorkerLost {
		s := "its worker " + w.Worker + " has not been heard of"
		if in != "" {
			s += "; it was" + in
		}
		if w.Workers == 0 {
			return s + "; no worker is running: start one that has workflow " + quote(w.Workflow) + ", and it continues from there"
		}
		return s + "; the next worker continues from there"
	}
	switch {
	case in == "" && w.Since.IsZero():
		return "worker " + w.Worker + " works on it"
	case in == "":
		return "worker " + w.Worker + " has it, and has written nothing" + w.since() + ": it is computing, or does not know that it has the run and hands it back within a few heartbeats"
	}
	return "worker " + w.Worker + " is" + in
}

func (w Why) attemptText() string {
	if w.Error == nil {
		return ""
	}
	return fmt.Sprintf(": attempt %d ended with %s", w.Attempt, errorText(w.Error))
}

func errorText(e *journal.AttemptError) string {
	s := human.Cut(e.Message, 200)
	if e.Where != "" {
		s += " (" + e.Where + ")"
	}
	return s
}

func (w Why) waitText() string {
	switch w.Kind {
	case WhySleep:
		return "sleeping in " + quote(w.Step) + w.until()
	case WhyEvent:
		s := "waiting for event " + quote(w.Event)
		if len(w.Match) > 0 {
			s += " where " + human.Fold(string(w.Match), 120)
		}
		if w.Listens {
			return s + w.until() + ", also when it is published"
		}
		return s + w.until()
	case WhyCondition:
		switch {
		case w.Step == "" && w.More > 0:
			return "waiting for a condition of its code"
		case w.Step == "":
			return "waiting for a condition of its code, but nothing is open that could make it true"
		}
		return "waiting for a condition of its code, " + quote(w.Step) + w.until()
	case WhyTask:
		return w.taskText()
	case WhyChild:
		return "waiting for child run " + w.peer(w.Step) + " to end" + w.since()
	case WhyRun:
		return "waiting for run " + w.peer("") + " to end" + w.since()
	case WhyHook:
		return "waiting for a payload at hook " + quote(w.Step) + " (token " + human.Visible(w.Token) + ")" + w.until() + w.since()
	}
	s := "waiting"
	if w.Waiting != "" {
		s += " for " + w.Waiting
	}
	return s + w.moment("; wakes at ", w.Until) // which may be for something else that is open
}

// peer is the other run, with its name and how it stands, as far as they are known.
func (w Why) peer(name string) string {
	about := human.Visible(name)
	if w.PeerIs != "" {
		if about != "" {
			about += ", "
		}
		about += w.PeerIs
	}
	if about == "" {
		return w.Peer
	}
	return w.Peer + " (" + about + ")"
}

// openText is something that is open, in a few words.
func openText(en *journal.Entry, now time.Time) string {
	if en.Reminds() {
		return "reminds " + human.When(en.Until, now)
	}
	s := string(en.Kind) + " " + quote(en.Key().String())
	switch en.Kind {
	case world.KindClosure, world.KindTask:
		s = "step " + quote(en.Key().String())
		if en.Undo() {
			s = "undo " + quote(en.Title())
		}
	case world.KindChild, world.KindAwait:
		s = "run " + en.Peer
	case world.KindHook:
		s += " (token " + human.Cut(en.Token, 60) + ")"
	case world.KindReceive:
		s = "hook " + quote(en.Name) + " (token " + human.Cut(en.Token, 60) + ")"
	}
	if !en.Until.IsZero() {
		s += " until " + human.When(en.Until, now)
	}
	if en.Listens {
		s += engine.Listens
	}
	return s
}

func (w Why) taskText() string {
	s := "waiting for registered step " + quote(w.Step)
	switch {
	case w.Line != nil:
		return s + ", which is " + w.limitText()
	case w.Attempt == 0 || w.Worker == "":
		return s + ", queued" + w.since()
	case w.Attempt > 1:
		return s + fmt.Sprintf(", which runs on worker %s%s, attempt %d", w.Worker, w.since(), w.Attempt)
	}
	return s + ", which runs on worker " + w.Worker + w.since()
}

// step names the step, and says what it is.
func (w Why) step() string {
	if w.Undo {
		return "undo " + quote(w.Step)
	}
	return "step " + quote(w.Step)
}

// compensating says that the run's code has failed already.
func (w Why) compensating() string {
	if w.Undo && !w.UndoNow {
		return "compensating, because its code failed: "
	}
	return ""
}

func quote(name string) string { return strconv.Quote(name) }

func (w Why) until() string { return w.moment(" until ", w.Until) }
func (w Why) at() string    { return w.moment(" at ", w.Until) }
func (w Why) since() string { return w.moment(" since ", w.Since) }

func (w Why) moment(word string, t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return word + human.When(t, w.At)
}
