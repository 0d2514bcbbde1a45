package cli

// This file tells the demo: what happens while it happens, and what it came to.

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/stepwell/stepwell/internal/human"
)

func (p *play) prologue() {
	if p.json {
		return
	}
	fmt.Fprintf(p.stdout, "Two workflows on %s, in a worker process that is killed in the middle of a step.\n\n", p.stage.what)
}

// say tells what the demo itself does.
func (p *play) say(t tone, text string) { p.line(time.Now(), p.style().paint(t, text)) }

// happened is what --json says of what happens.
type happened struct {
	Seconds float64 `json:"seconds"` // since the demo began
	Text    string  `json:"text"`
}

func (p *play) line(at time.Time, text string) {
	if p.json {
		_ = p.encoder().Encode(happened{at.Sub(p.began).Seconds(), strings.Join(strings.Fields(text), " ")}) // the next line fails too
		return
	}
	s := p.style()
	fmt.Fprintf(p.stdout, "%s  %s\n", s.paint(dim, fmt.Sprintf("%5.2f s", at.Sub(p.began).Seconds())), text)
}

// tell tells what the bodies of steps did since the last time.
func (p *play) tell() error {
	lines, err := p.lines.next()
	if err != nil {
		return err
	}
	s := p.style()
	for _, l := range lines {
		mark, note := s.paint(busy, s.mark("▸", "starts")), ""
		switch {
		case l.What == bodyEnds:
			mark = s.paint(good, s.mark("✓", "done"))
		case l.What == bodyFails:
			mark, note = s.paint(bad, s.mark("✗", "fails")), l.Error
		case l.Attempt > 1:
			note = "attempt " + strconv.Itoa(l.Attempt)
		}
		width := 6
		if s.symbols {
			width = 1
		}
		pad := strings.Repeat(" ", max(width-len([]rune(plain(mark))), 0))
		p.line(l.At, strings.TrimRight(fmt.Sprintf("    %-6s %-13s %s%s  %s", p.name(l.Run), l.Name, mark, pad, s.paint(dim, note)), " "))
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
		acted
		Output      json.RawMessage `json:"output"`
		Commits     int             `json:"commits"`
		Invocations int64           `json:"invocations"`
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
	enc := p.encoder()
	for _, a := range p.cast {
		story, err := p.app.Story(ctx, a.run, false)
		if err != nil {
			return err
		}
		r := &story.Run
		if err := enc.Encode(played{acted{Run: a.run, Action: "demo", Result: string(r.Status)}, r.Output, story.Journal.Commits, r.Takes}); err != nil {
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
	if p.json {
		return p.sum(ctx)
	}
	sum := &table{indent: "  ", gap: "  "}
	sum.add(cell{text: "run", tone: dim}, cell{text: "output", tone: dim}, cell{text: "commits", tone: dim, right: true}, cell{text: "invocations", tone: dim, right: true})
	for _, a := range p.cast {
		story, err := p.app.Story(ctx, a.run, true)
		if err != nil {
			return err
		}
		story.Why.At = story.Why.At.In(p.zone)
		fmt.Fprintln(p.stdout)
		(&picture{story: &story, style: p.style()}).draw(p.stdout)
		sum.add(cell{text: a.name}, cell{text: string(story.Run.Output)}, cell{text: strconv.Itoa(story.Journal.Commits), right: true},
			cell{text: strconv.FormatInt(story.Run.Takes, 10), right: true})
	}
	fmt.Fprintln(p.stdout)
	sum.write(p.stdout, p.style())
	p.writeTally()
	fmt.Fprintf(p.stdout, "\nNext, a program of your own:  stepwell init hello\n")
	return nil
}

func (p *play) writeTally() {
	s := p.style()
	fmt.Fprintf(p.stdout, "\nCounted in the file to which the steps append:\n\n")
	t := &table{indent: "  ", gap: "  "}
	t.add(cell{text: "step", tone: dim}, cell{text: "started", tone: dim, right: true}, cell{text: "failed", tone: dim, right: true},
		cell{text: "completed", tone: dim, right: true})
	all := p.tally()
	for _, name := range p.order() {
		n := all[name]
		note := ""
		if name == killedStep {
			note = "killed once, then done, under the same idempotency key"
		}
		t.add(cell{text: name}, number(n.starts), number(n.fails), number(n.ends), cell{text: note, tone: dim})
	}
	t.write(p.stdout, s)
	fmt.Fprintf(p.stdout, "\n%s %s had finished when the process was killed; none of them ran again.\n",
		s.paint(good, "No finished step ran twice:"), human.Count(len(p.finished), "step"))
}

func number(n int) cell { return cell{text: strconv.Itoa(n), right: true} }
