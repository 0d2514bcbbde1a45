// Package draw writes tables and runs for people, in a terminal or a pipe.
package draw

// This file holds colours and symbols, which only terminals get.

import (
	"github.com/stepwell/stepwell/internal/human"
	"github.com/stepwell/stepwell/internal/terminal"
)

// Style says how to mark text. The zero value marks nothing and writes words instead of symbols.
type Style struct {
	Symbols bool
	Colours bool
	Columns int // of the terminal; 0: nothing is cut
}

// wrapped is a sentence in lines as wide as the terminal.
func (s Style) wrapped(text string) []string {
	text = human.Visible(text)
	if s.Columns <= 0 {
		return []string{text}
	}
	return terminal.Wrap(text, s.Columns)
}

// Tone is what a text is about.
type Tone string

const (
	Good Tone = "32" // done
	Bad  Tone = "31" // failed, blocked
	Warm Tone = "33" // waits
	Busy Tone = "36" // runs
	Dim  Tone = "2"  // what matters less
	Bold Tone = "1"  // headings
)

// Paint shows a text, in a tone where there are colours. What a terminal would obey is shown as text, as in tables: a server
// may have said it.
func (s Style) Paint(t Tone, text string) string {
	text = human.Visible(text)
	if !s.Colours || text == "" || t == "" {
		return text
	}
	return "\x1b[" + string(t) + "m" + text + "\x1b[0m"
}

// Mark is a symbol on a terminal, else a word.
func (s Style) Mark(symbol, word string) string {
	if s.Symbols {
		return symbol
	}
	return word
}

// Short is a text on one line, which is cut where the width of a terminal is known, and nowhere else.
func (s Style) Short(text string, columns int) string {
	if text = human.Line(text); s.Columns > 0 {
		return terminal.Clip(text, columns)
	}
	return text
}
