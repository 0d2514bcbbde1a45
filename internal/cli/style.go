package cli

// This file holds colours and symbols, which only terminals get, and how wide a terminal is.

import (
	"strconv"

	"github.com/stepwell/stepwell/internal/human"
	"github.com/stepwell/stepwell/internal/terminal"
)

// style says how to mark text. The zero value marks nothing and writes words instead of symbols.
type style struct {
	symbols bool
	colours bool
	columns int // of the terminal; 0: nothing is cut
}

func (o *output) style() style {
	if o.json {
		return style{}
	}
	return style{symbols: o.terminal, colours: o.terminal && o.getenv("NO_COLOR") == "", columns: columns(o.shell)}
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

// wrapped is a sentence in lines as wide as the terminal.
func (s style) wrapped(text string) []string {
	text = human.Visible(text)
	if s.columns <= 0 {
		return []string{text}
	}
	return terminal.Wrap(text, s.columns)
}

// tone is what a text is about.
type tone string

const (
	good tone = "32" // done
	bad  tone = "31" // failed, blocked
	warm tone = "33" // waits
	busy tone = "36" // runs
	dim  tone = "2"
	bold tone = "1"
)

// paint shows a text, in a tone where there are colours. What a terminal would obey is shown as text, as in tables: a server may have said it.
func (s style) paint(t tone, text string) string {
	text = human.Visible(text)
	if !s.colours || text == "" || t == "" {
		return text
	}
	return "\x1b[" + string(t) + "m" + text + "\x1b[0m"
}

// mark is a symbol on a terminal, else a word.
func (s style) mark(symbol, word string) string {
	if s.symbols {
		return symbol
	}
	return word
}

// short is a text on one line, which is cut where the width of a terminal is known, and nowhere else.
func (s style) short(text string, columns int) string {
	if text = human.Line(text); s.columns > 0 {
		return terminal.Clip(text, columns)
	}
	return text
}
