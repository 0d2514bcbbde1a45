package cli

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
func (p *picture) made(to io.Writer) {
	made := p.story.Made
	if len(made) == 0 {
		return
	}
	shown := len(made)
	if !p.full {
		shown = min(shown, someMade)
	}
	fmt.Fprintln(to)
	t := &table{gap: "  "}
	for i := range made[:shown] {
		m := &made[i]
		t.add(cell{text: howMade(m), tone: dim}, cell{text: m.ID}, cell{text: string(m.Status), tone: tones[m.Status]}, cell{text: human.When(m.CreatedAt, p.now())})
	}
	t.write(to, p.style)
	if shown < len(made) || p.story.MadeMore {
		line := fmt.Sprintf("and %d more", len(made)-shown)
		if p.story.MadeMore {
			line = "and more"
		}
		if p.command != nil {
			line += ":  " + p.command("runs list --origin "+p.story.Run.ID)
		}
		fmt.Fprintln(to, p.style.paint(dim, line))
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
