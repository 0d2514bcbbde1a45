package cli

// This file holds how a command marks text, and how wide its terminal is. Package draw has the rest.

import (
	"io"
	"strconv"

	"github.com/stepwell/stepwell/internal/draw"
)

type (
	style = draw.Style
	tone  = draw.Tone
	table = draw.Table
	cell  = draw.Cell
)

const (
	good = draw.Good
	bad  = draw.Bad
	warm = draw.Warm
	busy = draw.Busy
	dim  = draw.Dim
	bold = draw.Bold
)

func (o *output) style() style {
	if o.json {
		return style{}
	}
	return style{Symbols: o.terminal, Colours: o.terminal && o.getenv("NO_COLOR") == "", Columns: columns(o.shell)}
}

// columns is how wide the terminal is, COLUMNS before what it says itself; 0: it is none, or does not say.
func columns(sh *shell) int {
	if !sh.terminal {
		return 0
	}
	if n, err := strconv.Atoi(sh.getenv("COLUMNS")); err == nil && n > 0 {
		return n
	}
	n, _ := sizeOf(sh)
	return n
}

// picture is one run, drawn, with what one could do about it.
type picture struct{ draw.Run }

func (p *picture) draw(to io.Writer) {
	p.Draw(to)
	p.actions(to)
}
