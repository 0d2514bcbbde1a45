package draw

// This file draws one run: a header, why it does not move, and its timeline.

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/internal/human"
	"github.com/stepwell/stepwell/internal/timeline"
	"github.com/stepwell/stepwell/world"
)

// How wide a payload may be, alone on its line or beside other things, and how many entries a timeline may have before its
// middle is folded.
const (
	PayloadWidth = 100
	NoteWidth    = 60
	firstEntries = 10
	lastEntries  = 30
)

// Run is one run to draw.
type Run struct {
	Story   *stepwell.Story
	Style   Style
	Full    bool                     // nothing is folded
	Command func(line string) string // a command line about it; nil: none is proposed
}

func (p *Run) now() time.Time { return p.Story.Why.At }

// Draw writes all but what one could do.
func (p *Run) Draw(to io.Writer) {
	p.header(to)
	p.why(to)
	p.facts(to)
	if len(p.Story.Journal.Entries) > 0 {
		fmt.Fprintln(to)
		p.timeline(to)
	}
	if p.Story.Damage != "" {
		fmt.Fprintln(to, "\n"+p.Style.Paint(Bad, "The rest of its log cannot be read: "+human.Cut(p.Story.Damage, 300)))
	}
	p.made(to)
}

// header is the first line: what it is, which, and how it stands.
func (p *Run) header(to io.Writer) {
	r := &p.Story.Run
	name := r.Workflow
	if r.Version > 0 {
		name += fmt.Sprintf(" v%d", r.Version)
	}
	began := r.CreatedAt
	if j := p.Story.Journal; !j.StartedAt.IsZero() {
		began = j.StartedAt
	}
	var status string
	if r.Status.Terminal() {
		status = p.Style.Paint(Tones[r.Status], string(r.Status)) + " after " + human.Span(r.EndedAt.Sub(began))
	} else {
		status = p.Style.Paint(Tones[r.Status], string(r.Status)) + " for " + human.Span(p.now().Sub(began))
	}
	line := p.Style.Paint(Bold, name) + "   " + human.Visible(r.ID) + "   " + status
	if time.Duration(r.Retention) == stepwell.Forever {
		line += "   kept forever"
	}
	if r.StartTTL > 0 {
		line += "   start TTL " + human.Span(time.Duration(r.StartTTL))
	}
	if n := p.Story.Journal.Gathered(); n > 1 {
		line += fmt.Sprintf("   gathered %s", human.Count(n, "start"))
	}
	if r.Timeout > 0 {
		line += "   timeout " + human.Span(time.Duration(r.Timeout))
	}
	if key := timeline.Key(r.Key, r.FirstKey); key != "" {
		line += "   key " + human.Visible(key)
	}
	fmt.Fprintln(to, line)
}

// Tones are those of the states of runs.
var Tones = map[world.Status]Tone{world.Running: Busy, world.Completed: Good, world.Failed: Bad, world.Cancelled: Warm}

// why is the second line, with the details of a blocked run below it.
func (p *Run) why(to io.Writer) {
	w := p.Story.Why
	t := Tone("")
	switch w.Kind {
	case stepwell.WhyBlocked, stepwell.WhyNoWorker, stepwell.WhyWorkerLost:
		t = Bad
	case stepwell.WhyOver:
		if w.Error != nil || w.Block != nil {
			t = Bad
		}
	default:
		t = Warm
	}
	for _, line := range p.Style.wrapped(w.String()) {
		fmt.Fprintln(to, p.Style.Paint(t, line))
	}
	if w.Block != nil {
		_, details, _ := strings.Cut(w.Block.Message, "\n")
		for line := range strings.Lines(details) {
			fmt.Fprintln(to, "  "+human.VisibleLines(strings.TrimPrefix(strings.TrimRight(line, "\n"), "  ")))
		}
	}
}

// facts are input and output, when it began, and what it cost.
func (p *Run) facts(to io.Writer) {
	r, j := &p.Story.Run, p.Story.Journal
	t := &Table{Gap: "  ", Wrap: true}
	fact := func(name, text string) { t.Add(Cell{Text: name, Tone: Dim}, Cell{Text: text}) }
	began := "created"
	at := r.CreatedAt
	if !j.StartedAt.IsZero() {
		began, at = "started", j.StartedAt
	}
	fact(began, human.When(at, p.now())+"   "+human.Count(j.Commits, "commit")+", "+human.Count(int(r.Claims), "claim"))
	for _, name := range slices.Sorted(maps.Keys(r.Attributes)) {
		fact("attribute", human.Visible(name)+" = "+human.Cut(string(r.Attributes[name]), PayloadWidth))
	}
	if r.Parent != nil {
		fact("parent", r.Parent.Run)
	}
	if j.Origin != nil {
		fact("from", fmt.Sprintf("event %d of run %s", j.Origin.Seq, j.Origin.Run))
	}
	if j.Segment > 0 {
		segment := fmt.Sprintf("%d   continued as new %s", j.Segment+1, times(j.Segment))
		if j.Trimmed > 0 {
			segment += fmt.Sprintf("; the log before event %d was trimmed", j.Trimmed)
		}
		fact("segment", segment)
	}
	if undo := timeline.Undone(j); undo != "" {
		fact("undo", undo)
	}
	if len(j.Input) > 0 {
		fact("input", p.value(j.Input, j.InputApart))
	}
	if len(j.Output) > 0 {
		fact("output", p.value(j.Output, j.OutputApart))
	}
	for _, what := range j.NotCreated {
		fact("not created", human.Cut(human.Visible(what), PayloadWidth)+"   not awaited when the code ended")
	}
	for _, u := range j.Unread {
		fact("unread", fmt.Sprintf("event %q, sent %s   %s", u.Name, human.When(u.At, p.now()), p.payload(u.Payload, NoteWidth)))
	}
	for _, a := range j.Aside {
		of := "event"
		if a.Hook != "" {
			of = "hook"
		}
		text := fmt.Sprintf("%s %q, event %d, %s: %s", of, a.Name, a.Seq, human.When(a.At, p.now()), human.Cut(a.Reason, 200))
		if len(a.Payload) > 0 { // a hook's is in the log alone
			text += "   " + p.payload(a.Payload, NoteWidth)
		}
		fact("set aside", text)
	}
	for i := range r.Late {
		name, means := timeline.LateFor(r.Status, &r.Late[i])
		fact(name, human.Cut(human.Visible(timeline.Late(&r.Late[i])), PayloadWidth)+"; "+means)
	}
	t.Write(to, p.Style)
}

// value is an input or an output, which may be kept apart.
func (p *Run) value(b []byte, apart string) string {
	of, ok := world.ReadApart(b, apart)
	if !ok {
		return p.payload(b, PayloadWidth)
	}
	read := fmt.Sprintf("stepwell runs value %s %s", p.Story.Run.ID, of.ID)
	if p.Command != nil {
		read = p.Command(fmt.Sprintf("runs value %s %s", p.Story.Run.ID, of.ID))
	}
	return human.Size(int(of.Size)) + ", kept apart: " + read + " > file"
}

func (p *Run) payload(b []byte, width int) string {
	if p.Story.Run.Sealed && strings.HasPrefix(string(b), `"sealed:`) {
		return "encrypted with the key " + p.Story.Run.Encryption
	}
	if p.Full {
		width = len(b)*6 + 1 // what is shown escaped takes more room
	}
	return human.Fold(string(b), width)
}

// times says how often.
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
