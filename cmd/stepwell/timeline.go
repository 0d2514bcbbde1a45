package main

// This file draws the steps and waits of a run, one a line.

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/stepwell/stepwell/internal/human"
	"github.com/stepwell/stepwell/world"
)

func (p *picture) timeline(to io.Writer) {
	entries := p.story.Journal.Entries
	skip, from := 0, len(entries)
	if !p.full && len(entries) > firstEntries+lastEntries+1 {
		skip, from = len(entries)-firstEntries-lastEntries, firstEntries
	}
	t := &table{indent: "  ", gap: "  "}
	for i, en := range entries {
		switch {
		case i == from:
			t.add(cell{text: "…", tone: dim, right: true}, cell{}, cell{text: fmt.Sprintf("%d more (--full)", skip), tone: dim})
			continue
		case i > from && i < from+skip:
			continue
		}
		if en.Segment > 0 && (i == 0 || entries[i-1].Segment != en.Segment) {
			t.add(cell{}, cell{}, cell{text: "continued as new", tone: dim})
		}
		mark, tone := p.mark(en)
		t.add(cell{text: strconv.Itoa(i + 1), tone: dim, right: true}, cell{text: kindWord(en), tone: dim}, cell{text: entryName(en)},
			cell{text: mark, tone: tone}, cell{text: p.span(en), right: false}, cell{text: p.note(en), tone: dim})
	}
	t.write(to, p.style)
}

// kindWord is what people call the kind of an entry.
func kindWord(en *world.Entry) string {
	switch en.Kind {
	case world.KindClosure, world.KindTask:
		if en.Undo() {
			return "undo"
		}
		return "step"
	case world.KindSleep, world.KindCondition:
		return "wait"
	default:
		return string(en.Kind) // event, hook, child, await, patch
	}
}

func entryName(en *world.Entry) string { return human.Cut(en.Title(), 48) }

func (p *picture) mark(en *world.Entry) (string, tone) {
	switch en.Status {
	case world.EntryCompleted, world.EntryDisposed:
		return p.style.mark("✓", "done"), good
	case world.EntryFailed, world.EntryConflicted:
		return p.style.mark("✗", "failed"), bad
	case world.EntryDropped:
		return p.style.mark("–", "dropped"), dim
	case world.EntryRunning:
		return p.style.mark("…", "runs"), busy
	default:
		return p.style.mark("…", "waits"), warm
	}
}

// span is how long it took, or has taken so far: a step's last attempt, a wait from its creation.
func (p *picture) span(en *world.Entry) string {
	began := en.CreatedAt
	if en.Status == world.EntryPending && !en.CompletedAt.IsZero() {
		began = en.CompletedAt // since its last attempt failed
	} else if !en.AttemptAt.IsZero() {
		began = en.AttemptAt
	}
	switch {
	case en.Kind == world.KindPatch:
		return ""
	case en.CompletedAt.IsZero() || en.Status == world.EntryPending:
		return human.Span(p.now().Sub(began))
	default:
		return human.Span(en.CompletedAt.Sub(began))
	}
}

// note is what else there is to say: attempts and their errors, what came, until when.
func (p *picture) note(en *world.Entry) string {
	var parts []string
	say := func(s string) {
		if s != "" {
			parts = append(parts, s)
		}
	}
	say(p.peer(en))
	switch en.Kind {
	case world.KindHook:
		say("token " + human.Cut(en.Token, noteWidth))
		if en.Received > 0 {
			say(human.Count(en.Received, "payload"))
		}
	case world.KindSleep, world.KindEvent, world.KindCondition:
		say(p.waitNote(en))
	}
	if en.Attempt > 1 {
		say(fmt.Sprintf("attempt %d", en.Attempt))
	}
	switch {
	case en.Status == world.EntryFailed && en.Error != nil:
		say(p.failure(en.Error.Message, en.Error.Where))
	case en.Status == world.EntryPending && en.RetryAt.After(p.now()):
		say("again " + human.Relative(en.RetryAt, p.now()))
	case en.Status == world.EntryDropped:
		say(p.givenUp(en))
	}
	say(p.attempts(en))
	return strings.Join(parts, "   ")
}

// peer is the other run, and how it stands while it is waited for.
func (p *picture) peer(en *world.Entry) string {
	peer := en.Peer
	if peer == en.Name { // it is named already
		peer = ""
	}
	if is := p.story.Peers[en.Peer]; is != "" && en.CompletedAt.IsZero() {
		peer += " (" + is + ")"
	}
	return strings.TrimSpace(peer)
}

// givenUp says what ended before the entry did.
func (p *picture) givenUp(en *world.Entry) string {
	if en.Segment < p.story.Journal.Segment {
		return "given up when the run continued as new"
	}
	return "given up when the run ended"
}

func (p *picture) waitNote(en *world.Entry) string {
	switch {
	case en.Status == world.EntryWaiting && en.ID != p.story.Why.ID && !en.Until.IsZero():
		return "until " + human.When(en.Until, p.now())
	case en.Outcome == world.OutcomeWoken:
		return "woken"
	case en.Outcome == world.OutcomeDue && en.Kind != world.KindSleep:
		return "timed out"
	case en.Outcome == world.OutcomeReceived && len(en.Output) > 0:
		return p.payload(en.Output, noteWidth)
	}
	return ""
}

func (p *picture) failure(message, where string) string {
	width := noteWidth
	if p.full {
		width = len(message) * 6
	}
	s := human.Cut(message, width)
	if where != "" {
		s += "  " + where
	}
	return s
}

// attempts tells how earlier attempts ended, the same together: (2 × mail: connection refused  mail.go:41).
func (p *picture) attempts(en *world.Entry) string {
	var texts []string
	var counts []int
	count := func(text string) {
		if n := len(texts); n > 0 && texts[n-1] == text {
			counts[n-1]++
			return
		}
		texts, counts = append(texts, text), append(counts, 1)
	}
	ended := slices.Clone(en.Earlier)
	slices.SortStableFunc(ended, func(a, b world.AttemptError) int { return cmp.Compare(a.Attempt, b.Attempt) }) // some are heard of late
	next := 1
	if len(ended) >= 10 {
		next = ended[0].Attempt // those before are no longer known
	}
	if en.Status == world.EntryPending && en.Error != nil { // the last attempt has failed, and the next is to come
		ended = append(ended, world.AttemptError{Attempt: en.Attempt, Message: en.Error.Message, Where: en.Error.Where, At: time.Time{}})
	}
	for _, e := range ended {
		for ; e.Attempt > next; next++ {
			count(lostAttempt)
		}
		count(p.failure(e.Message, e.Where))
		next = max(next, e.Attempt+1)
	}
	for ; next < en.Attempt; next++ {
		count(lostAttempt)
	}
	for i, n := range counts {
		texts[i] = fmt.Sprintf("%d × %s", n, texts[i])
	}
	if len(texts) == 0 {
		return ""
	}
	return "(" + strings.Join(texts, ", ") + ")"
}

// lostAttempt is said of an attempt that began and was never heard of again.
const lostAttempt = "its process died"
