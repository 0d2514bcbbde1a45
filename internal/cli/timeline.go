package cli

// This file draws the steps and waits of a run, one a line.

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/stepwell/stepwell/internal/human"
	"github.com/stepwell/stepwell/internal/timeline"
	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/journal"
)

func (p *picture) timeline(to io.Writer) {
	entries := p.story.Journal.Entries
	skip, from := 0, len(entries)
	if !p.full && len(entries) > firstEntries+lastEntries+1 {
		skip, from = len(entries)-firstEntries-lastEntries, firstEntries
	}
	t := &table{indent: "  ", gap: "  ", wrap: true}
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
		t.add(cell{text: strconv.Itoa(i + 1), tone: dim, right: true}, cell{text: timeline.Kind(en), tone: dim}, cell{text: entryName(en)},
			cell{text: mark, tone: tone}, cell{text: timeline.Took(en, p.now()), right: false}, cell{text: p.note(en), tone: dim})
	}
	t.write(to, p.style)
}

func entryName(en *journal.Entry) string { return human.Cut(en.Title(), 48) }

func (p *picture) mark(en *journal.Entry) (string, tone) {
	switch en.Status {
	case journal.EntryCompleted, journal.EntryDisposed:
		return p.style.mark("✓", "done"), good
	case journal.EntryFailed, journal.EntryConflicted:
		return p.style.mark("✗", "failed"), bad
	case journal.EntryDropped:
		return p.style.mark("–", "dropped"), dim
	case journal.EntryRunning:
		return p.style.mark("…", "runs"), busy
	default:
		return p.style.mark("…", "waits"), warm
	}
}

// note is what else there is to say: attempts and their errors, what came, until when.
func (p *picture) note(en *journal.Entry) string {
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
	case world.KindSleep, world.KindEvent, world.KindCondition, world.KindReceive:
		say(p.waitNote(en))
	}
	if en.Attempt > 1 {
		say(fmt.Sprintf("attempt %d", en.Attempt))
	}
	say(timeline.Said(en, p.now(), noteWidth))
	say(timeline.BeginsBy(en, p.now()))
	switch {
	case en.Status == journal.EntryFailed && en.Error != nil:
		say(p.failure(en.Error.Message, en.Error.Where))
	case en.Status == journal.EntryPending && en.RetryAt.After(p.now()):
		say("again " + human.Relative(en.RetryAt, p.now()))
	case en.Status == journal.EntryDropped:
		say(timeline.GivenUp(en, p.story.Journal.Segment))
	}
	say(p.attempts(en))
	return strings.Join(parts, "   ")
}

// peer is the other run, and how it stands while it is waited for.
func (p *picture) peer(en *journal.Entry) string {
	peer := en.Peer
	if peer == en.Name { // it is named already
		peer = ""
	}
	if is := p.story.Peers[en.Peer]; is != "" && en.CompletedAt.IsZero() {
		peer += " (" + is + ")"
	}
	return strings.TrimSpace(peer)
}

// waitNote is how a wait stands, but for the one that the head of the picture tells of, or what it took.
func (p *picture) waitNote(en *journal.Entry) string {
	switch {
	case en.Status == journal.EntryWaiting && en.ID == p.story.Why.ID:
		return ""
	case en.Outcome == world.OutcomeReceived && len(en.Output) > 0:
		return p.payload(en.Output, noteWidth)
	}
	return timeline.Waited(en, p.now())
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
func (p *picture) attempts(en *journal.Entry) string {
	var texts []string
	for _, a := range timeline.Earlier(en) {
		text := timeline.Lost
		if !a.Lost {
			text = p.failure(a.Message, a.Where)
		}
		texts = append(texts, fmt.Sprintf("%d × %s", a.Count, text))
	}
	if len(texts) == 0 {
		return ""
	}
	return "(" + strings.Join(texts, ", ") + ")"
}
