package cli

// This file proposes what one could do about a run: command lines that can be pasted.

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/journal"
)

// longRetry is how far away a retry must be for its wait to be worth ending.
const longRetry = 10 * time.Second

// proposal is a list of command lines.
type proposal struct {
	t       *table
	command func(line string) string
}

func (a *proposal) do(what, line string) { a.note(what, line, "") }

// note is do with a word on what it is good for, which a shell takes for a comment.
func (a *proposal) note(what, line, note string) { a.pipe(what, line, "", note) }

// pipe is note with another command behind it.
func (a *proposal) pipe(what, line, other, note string) {
	if note != "" {
		note = "# " + note
	}
	a.t.Add(cell{Text: what, Tone: dim}, cell{Text: a.command(line) + other, Whole: true}, cell{Text: note, Tone: dim})
}

// actions are command lines that can be pasted.
func (p *picture) actions(to io.Writer) {
	if p.Command == nil {
		return
	}
	a := &proposal{t: &table{Indent: "  ", Gap: "  ", Wrap: true, Lead: "# "}, command: p.Command}
	run := p.Story.Run.ID
	if p.Story.Run.Status.Terminal() {
		p.again(a, run)
	} else {
		p.sends(run, a)
		p.wayOn(a, run)
		p.wayOut(a, run)
	}
	if a.t.Rows() > 0 {
		fmt.Fprintln(to)
		a.t.Write(to, p.Style)
	}
}

// again proposes new runs in the place of one that did not complete.
func (p *picture) again(a *proposal, run string) {
	r, status := p.Story.Retry, p.Story.Run.Status
	switch {
	case status == world.Completed:
	case r != nil && (status == world.Failed || r.Newest != ""):
		p.retry(a, run, r)
	default:
		a.note("restart:", "runs restart "+run, anew(p.Story.Why.Restart))
	}
}

// retry proposes what a retry of a run that failed can do, or else what can be done instead.
func (p *picture) retry(a *proposal, run string, r *stepwell.RetryAdvice) {
	again := p.Story.Why.Restart
	if r.Newest != "" {
		a.note("see:", "runs show "+r.Newest, "the run that replaced it")
		again = repeats
	}
	if r.Refused == "" {
		a.note("retry:", "runs retry "+run, r.Does())
		a.note("restart:", "runs restart "+cmp.Or(r.Newest, run), anew(again))
		return
	}
	a.t.Add(cell{Text: "no retry:", Tone: dim}, cell{Text: r.Refused})
	for _, w := range instead(run, r, again) {
		a.note(w.what, w.line, w.note)
	}
}

// repeats is what a restart does of which nothing is known.
const repeats = "completed steps run again"

// way is a command line in the place of a retry.
type way struct{ what, line, note string }

// anew is what a restart makes, and what it does again.
func anew(again string) string {
	if again == "" {
		return "a new run, from the start"
	}
	return "a new run, from the start; " + again
}

// instead are the ways around a retry that is refused. again is what a restart would do again.
func instead(run string, r *stepwell.RetryAdvice, again string) (ways []way) {
	of := cmp.Or(r.Newest, run)
	switch {
	case r.PeerIs == string(world.Cancelled):
		ways = append(ways, way{"restart:", "runs restart " + shellWord(r.Peer) + " --in-place", "the cancelled run that replaced it; when that one has completed, retry this run"})
	case r.Peer != "":
		ways = append(ways, way{"see:", "runs show " + shellWord(r.Peer), "the run that replaced it; when that one has completed, retry this run"})
	case r.Child != "":
		ways = append(ways, way{"retry:", "runs retry " + shellWord(r.Child), "its child; when that has completed, retry this run: it continues with the child's result"})
	case r.Awaited != "":
		ways = append(ways, way{"see:", "runs show " + shellWord(r.Awaited), "the run that it waited for; if that was retried and completed, you can retry this one"})
	}
	fork := fmt.Sprintf("runs fork %s --at %d", of, r.Fork)
	if r.Input {
		with := " --input " + payloadWord
		return append(ways, way{"restart:", "runs restart " + of + with, "a new run, with an input that fits"}, way{"fork:", fork + with, "a new run that keeps its seed and settings, with an input that fits"})
	}
	if r.Result != "" {
		ways = append(ways, way{"fork:", fork + " --result " + shellWord(r.Result+"=null"), "a new run, with a result of the step instead of null"})
	}
	switch restart := "runs restart " + of; {
	case r.Restart && r.Newest != "":
		ways = append(ways, way{"restart:", restart + " --in-place", anew(again)})
	case r.Restart:
		ways = append(ways, way{"restart:", restart, anew(again)})
	}
	if r.Fork > 0 {
		note := "a new run from there anyway"
		if r.Undone != "" {
			note += "; what it did has since been undone (" + r.Undone + "), and is not repeated"
		}
		ways = append(ways, way{"fork:", fork, note})
	}
	return ways
}

// insteadOf says what can be done where there is no retry, for people.
func (t *target) insteadOf(run string, r *stepwell.RetryAdvice) string {
	next := "nothing was changed"
	for _, w := range instead(run, r, repeats) {
		next += "\n  " + w.note + ":  " + t.command(w.line)
	}
	return next
}

// wayOn proposes what lets a run go on, or what to look at.
func (p *picture) wayOn(a *proposal, run string) {
	switch w := &p.Story.Why; w.Kind {
	case stepwell.WhyPaused:
		a.do("resume:", "runs resume "+run)
	case stepwell.WhyHeld:
		a.note("release:", "workflows release "+shellWord(w.Workflow), "let all of its runs begin")
	case stepwell.WhyLimit:
		if w.Peer != "" {
			a.note("see:", "runs show "+shellWord(w.Peer), "the run that is to end first")
		}
		if w.Line != nil {
			if w.Line.Per == 0 && w.Peer == "" {
				key := ""
				if w.Line.Key != "" {
					key = " " + shellWord(w.Line.Key)
				}
				a.note("holders:", "limits holders "+shellWord(w.Line.Limit)+key, "what holds its places")
			}
			a.note("look:", "limits show "+shellWord(w.Line.Limit), "how many of its places are held, and how long the lines are")
		}
	case stepwell.WhySleep:
		a.do("wake:", "runs wake "+run)
	case stepwell.WhyChild, stepwell.WhyRun:
		a.do("see:", "runs show "+shellWord(w.Peer))
	case stepwell.WhyBlocked:
		p.unblock(a, run)
	case stepwell.WhyNoWorker, stepwell.WhyWorkerLost, stepwell.WhyQueued, stepwell.WhyTask:
		a.note("look:", "workers", "the workers, and what they can run")
	case stepwell.WhyWorking, stepwell.WhyStalled, stepwell.WhySuspect:
		a.do("follow:", "runs tail "+run)
	case stepwell.WhyDelayed, stepwell.WhyGathers:
		a.do("start now:", "runs wake "+run+" --starts")
	}
	p.retryNow(a, run)
}

// retryNow proposes to end what a run waits for that is tried again by itself, where that is far away.
func (p *picture) retryNow(a *proposal, run string) {
	w := &p.Story.Why
	far := func(at time.Time) bool { return at.Sub(w.At) > longRetry }
	switch {
	case w.Kind == stepwell.WhyPaused:
	case w.Kind == stepwell.WhyBlocked:
		harms := w.Block.Code == world.CodeCrashLoop // it ends a worker once more
		if far(w.Until) && w.Block.Code != world.CodeCorrupt && !harms {
			a.note("try now:", "runs wake "+run+" --retries", "after you have fixed what blocks it")
		}
	case slices.ContainsFunc(p.Story.Journal.Entries, func(en *journal.Entry) bool { return en.Status == journal.EntryPending && far(en.RetryAt) }):
		a.note("retry now:", "runs wake "+run+" --retries", "attempts still count")
	}
}

// unblock proposes what heals a blocked run, or finds out what would.
func (p *picture) unblock(a *proposal, run string) {
	b := p.Story.Why.Block
	switch b.Code {
	case world.CodeDiverged, world.CodeDecode, world.CodePanic, world.CodeForeign:
		a.pipe("check:", "export "+run, " | stepwell check -- PROGRAM", "check whether a build unblocks it")
	case world.CodeCorrupt:
		a.note("look:", "doctor --full", "see what else is damaged; restoring the row repairs it")
		if b.Seq > 2 {
			a.note("fork:", fmt.Sprintf("runs fork %s --at %d", run, b.Seq-1), forked("a new run from before the damage; then end this one", &p.Story.Why))
		}
		if p.Story.Why.Workers > 0 { // else wayOut says it
			a.note("force:", "runs cancel "+run+" --force", "end it without its log")
		}
	case world.CodeFormat, world.CodeStorage:
		a.note("look:", "doctor", "the state of the database")
	case world.CodeCrashLoop:
		a.note("look:", "workers", "their builds")
	}
	if b.Seq > 2 && b.Code == world.CodeDiverged {
		a.note("fork:", fmt.Sprintf("runs fork %s --at %d", run, b.Seq-1), forked("a new run with the events on which they agree; then cancel this one", &p.Story.Why))
	}
	if en := p.Story.Journal.Entry(b.Step); en != nil && b.Code == world.CodeDecode { // nothing runs again
		step := en.Key().String()
		if en.Path != "" { // another may have that name
			step = en.ID
		}
		a.note("fork:", "runs fork "+run+" --result "+shellWord(step+"="+payloadWord), "a new run, with a result that its code accepts instead of PAYLOAD; then cancel this one")
	}
}

// forked is what a fork of a blocked run makes, and what it does again.
func forked(makes string, w *stepwell.Why) string {
	if w.Fork == "" {
		return makes
	}
	return makes + "; " + w.Fork
}

// wayOut proposes how to end a run.
func (p *picture) wayOut(a *proposal, run string) {
	w := &p.Story.Why
	if w.Kind != stepwell.WhyCancelling {
		a.note("cancel:", "runs cancel "+run, w.Cancel)
	}
	if w.Kind == stepwell.WhyCancelling || w.Workers == 0 {
		note := "end it without running its code"
		if w.Workers == 0 {
			note += ", and needs no worker"
		}
		a.note("force:", "runs cancel "+run+" --force", note)
	}
}

// mostSends is how many events and hooks a picture proposes to send to.
const mostSends = 3

// payloadWord stands for a payload, whose type only the code knows. It is no JSON: pasted as it is, it is refused and changes nothing.
const (
	payloadWord = "PAYLOAD"
	payloadNote = "PAYLOAD is JSON that its code accepts"
)

// sends proposes what can be sent to what is open.
func (p *picture) sends(run string, a *proposal) {
	n := 0
	for _, en := range p.Story.Journal.Entries {
		switch {
		case n == mostSends:
			return
		case en.Attends() != "" && en.Status == journal.EntryWaiting:
			if hook := p.Story.Journal.Entry(en.Attends()); hook != nil && hook.Token != "" {
				a.note("heartbeat:", "hooks heartbeat "+shellWord(hook.Token), "tell the run that someone is still working on it, so that it keeps waiting")
				n++
			}
		case en.Kind == world.KindEvent && en.Status == journal.EntryWaiting:
			signal := "runs signal " + run + " " + shellWord(en.Name) + " "
			if len(en.Match) > 0 {
				a.do("signal:", signal+shellWord(string(en.Match)))
			} else {
				a.note("signal:", signal+payloadWord, payloadNote)
			}
			n++
		case en.Kind == world.KindHook && en.Status == journal.EntryActive && strings.HasPrefix(en.Token, world.WebhookToken):
			a.do("its URL:", "hooks list --token "+shellWord(en.Token)) // it takes requests alone
			n++
		case en.Kind == world.KindHook && en.Status == journal.EntryActive:
			a.note("send:", "hooks send "+shellWord(en.Token)+" "+payloadWord, payloadNote)
			n++
		}
	}
}
