package demo

// This file tells the demo: what happens while it happens, and what it came to.

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/stepwell/stepwell/internal/draw"
	"github.com/stepwell/stepwell/internal/human"
)

func (p *play) prologue() {
	if p.JSON != nil {
		return
	}
	fmt.Fprintf(p.Out, "Two workflows on %s, in a worker process that is killed in the middle of a step.\n\n", p.Stage.What)
}

// say tells what the demo itself does.
func (p *play) say(t draw.Tone, text string) { p.line(time.Now(), p.Style.Paint(t, text)) }

// happened is what --json says of what happens.
type happened struct {
	Seconds float64 `json:"seconds"` // since the demo began
	Text    string  `json:"text"`
}

func (p *play) line(at time.Time, text string) {
	if p.JSON != nil {
		_ = p.JSON.Encode(happened{at.Sub(p.began).Seconds(), strings.Join(strings.Fields(text), " ")}) // the next line fails too
		return
	}
	s := p.Style
	fmt.Fprintf(p.Out, "%s  %s\n", s.Paint(draw.Dim, fmt.Sprintf("%5.2f s", at.Sub(p.began).Seconds())), text)
}

// tell tells what the bodies of steps did since the last time.
func (p *play) tell() error {
	lines, err := p.lines.next()
	if err != nil {
		return err
	}
	s := p.Style
	for _, l := range lines {
		mark, note := s.Paint(draw.Busy, s.Mark("▸", "starts")), ""
		switch {
		case l.What == bodyEnds:
			mark = s.Paint(draw.Good, s.Mark("✓", "done"))
		case l.What == bodyFails:
			mark, note = s.Paint(draw.Bad, s.Mark("✗", "fails")), l.Error
		case l.Attempt > 1:
			note = "attempt " + strconv.Itoa(l.Attempt)
		}
		width := 6
		if s.Symbols {
			width = 1
		}
		pad := strings.Repeat(" ", max(width-len([]rune(plain(mark))), 0))
		p.line(l.At, strings.TrimRight(fmt.Sprintf("    %-6s %-13s %s%s  %s", p.name(l.Run), l.Name, mark, pad, s.Paint(draw.Dim, note)), " "))
	}
	return nil
}

// plain takes colours off.
func plain(s string) string {
	if i := strings.IndexByte(s, 'm'); i > 0 && s[0] == '\x1b' {
		s = strings.TrimSuffix(s[i+1:], "\x1b[0m")
	}
	return s
}

func (p *play) name(run string) string {
	for _, a := range p.cast {
		if a.run == run {
			return a.name
		}
	}
	return run
}

// played is what --json says of a run in the end, and counts of one of its steps.
type (
	played struct {
		Run     string          `json:"run"`
		Action  string          `json:"action"`
		Result  string          `json:"result"`
		Output  json.RawMessage `json:"output"`
		Commits int             `json:"commits"`
		Claims  int64           `json:"claims"`
	}
	counts struct {
		Step      string `json:"step"`
		Started   int    `json:"started"`
		Failed    int    `json:"failed"`
		Completed int    `json:"completed"`
	}
)

// sum writes what the epilogue tells, as JSON.
func (p *play) sum(ctx context.Context) error {
	enc := p.JSON
	for _, a := range p.cast {
		story, err := p.app.Story(ctx, a.run, false)
		if err != nil {
			return err
		}
		r := &story.Run
		if err := enc.Encode(played{a.run, "demo", string(r.Status), r.Output, story.Journal.Commits, r.Claims}); err != nil {
			return err
		}
	}
	all := p.tally()
	for _, name := range p.order() {
		n := all[name]
		if err := enc.Encode(counts{name, n.starts, n.fails, n.ends}); err != nil {
			return err
		}
	}
	return nil
}

// epilogue draws the runs and counts what ran.
func (p *play) epilogue(ctx context.Context) error {
	if p.JSON != nil {
		return p.sum(ctx)
	}
	sum := &draw.Table{Indent: "  ", Gap: "  "}
	sum.Add(draw.Cell{Text: "run", Tone: draw.Dim}, draw.Cell{Text: "output", Tone: draw.Dim}, draw.Cell{Text: "commits", Tone: draw.Dim, Right: true}, draw.Cell{Text: "claims", Tone: draw.Dim, Right: true})
	for _, a := range p.cast {
		story, err := p.app.Story(ctx, a.run, true)
		if err != nil {
			return err
		}
		story.Why.At = story.Why.At.In(p.Zone)
		fmt.Fprintln(p.Out)
		(&draw.Run{Story: &story, Style: p.Style}).Draw(p.Out)
		sum.Add(draw.Cell{Text: a.name}, draw.Cell{Text: string(story.Run.Output)}, draw.Cell{Text: strconv.Itoa(story.Journal.Commits), Right: true},
			draw.Cell{Text: strconv.FormatInt(story.Run.Claims, 10), Right: true})
	}
	fmt.Fprintln(p.Out)
	sum.Write(p.Out, p.Style)
	p.writeTally()
	fmt.Fprintf(p.Out, "\nNext, a program of your own:  %s\n", p.NextRun)
	return nil
}

func (p *play) writeTally() {
	s := p.Style
	fmt.Fprintf(p.Out, "\nCounted in the file to which the steps append:\n\n")
	t := &draw.Table{Indent: "  ", Gap: "  "}
	t.Add(draw.Cell{Text: "step", Tone: draw.Dim}, draw.Cell{Text: "started", Tone: draw.Dim, Right: true}, draw.Cell{Text: "failed", Tone: draw.Dim, Right: true},
		draw.Cell{Text: "completed", Tone: draw.Dim, Right: true})
	all := p.tally()
	for _, name := range p.order() {
		n := all[name]
		note := ""
		if name == killedStep {
			note = "killed once, then done, under the same idempotency key"
		}
		t.Add(draw.Cell{Text: name}, number(n.starts), number(n.fails), number(n.ends), draw.Cell{Text: note, Tone: draw.Dim})
	}
	t.Write(p.Out, s)
	fmt.Fprintf(p.Out, "\n%s %s had finished when the process was killed; none of them ran again.\n",
		s.Paint(draw.Good, "No finished step ran twice:"), human.Count(len(p.finished), "step"))
}

func number(n int) draw.Cell { return draw.Cell{Text: strconv.Itoa(n), Right: true} }
