package draw

// This file draws what was made of a run.

import (
	"fmt"
	"io"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/internal/human"
)

// someMade is how many of the runs that were made of one are shown.
const someMade = 5

// made lists the forks, restarts and retries of a run, newest first.
func (p *Run) made(to io.Writer) {
	made := p.Story.Made
	if len(made) == 0 {
		return
	}
	shown := len(made)
	if !p.Full {
		shown = min(shown, someMade)
	}
	fmt.Fprintln(to)
	t := &Table{Gap: "  "}
	for i := range made[:shown] {
		m := &made[i]
		t.Add(Cell{Text: howMade(m), Tone: Dim}, Cell{Text: m.ID}, Cell{Text: string(m.Status), Tone: Tones[m.Status]}, Cell{Text: human.When(m.CreatedAt, p.now())})
	}
	t.Write(to, p.Style)
	if shown < len(made) || p.Story.MadeMore {
		line := fmt.Sprintf("and %d more", len(made)-shown)
		if p.Story.MadeMore {
			line = "and more"
		}
		if p.Command != nil {
			line += ":  " + p.Command("runs list --origin "+p.Story.Run.ID)
		}
		fmt.Fprintln(to, p.Style.Paint(Dim, line))
	}
}

func howMade(m *stepwell.MadeRun) string {
	switch {
	case m.Retry:
		return "retried as"
	case m.At <= 1:
		return "restarted as"
	}
	return fmt.Sprintf("forked at event %d as", m.At)
}
