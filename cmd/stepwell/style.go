package main

// This file holds colours and symbols, which only terminals get, and tables.

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/stepwell/stepwell/internal/human"
)

// style says how to mark text. The zero value marks nothing and writes words instead of symbols.
type style struct {
	symbols bool
	colours bool
}

func (c *cli) style() style {
	if c.json {
		return style{}
	}
	return style{symbols: c.terminal, colours: c.terminal && c.getenv("NO_COLOR") == ""}
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

// cell is one place in a table.
type cell struct {
	text  string
	tone  tone
	right bool // flush right
}

// table lines up rows of cells, and shows what a terminal would obey as text.
type table struct {
	indent string
	gap    string
	least  []int // widths of columns, at least
	rows   [][]cell
}

func (t *table) add(cells ...cell) { t.rows = append(t.rows, cells) }

func (t *table) write(to io.Writer, s style) {
	widths := slices.Clone(t.least)
	for _, row := range t.rows {
		for i := range row {
			c := &row[i]
			c.text = human.Visible(c.text)
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], utf8.RuneCountInString(c.text))
		}
	}
	for _, row := range t.rows {
		last := len(row) - 1
		for last > 0 && row[last].text == "" {
			last--
		}
		var line strings.Builder
		for i, c := range row[:last+1] {
			pad := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(c.text))
			switch {
			case c.right:
				line.WriteString(pad + s.paint(c.tone, c.text))
			case i == last:
				line.WriteString(s.paint(c.tone, c.text))
			default:
				line.WriteString(s.paint(c.tone, c.text) + pad)
			}
			if i < last {
				line.WriteString(t.gap)
			}
		}
		fmt.Fprintln(to, t.indent+line.String())
	}
}
