package cli

// This file holds tables, which know how wide their terminal is.

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/stepwell/stepwell/internal/human"
	"github.com/stepwell/stepwell/internal/terminal"
)

// Where the last column has less room than this, to be wrapped or to be cut, it stands below its row, under columns further in.
const (
	roomToWrap = 24
	roomToCut  = 40
	under      = 4
)

// cell is one place in a table.
type cell struct {
	text  string
	tone  tone
	right bool // flush right
	whole bool // never cut: a command line that is pasted
}

// table lines up rows of cells, and shows what a terminal would obey as text. Where the width of the terminal is known, what stands last in a row and
// is too long for it is cut, or wrapped under itself.
type table struct {
	indent string
	gap    string
	least  []int  // widths of columns, at least
	spare  []int  // columns that narrow terminals do not get, the first to go first
	dear   []int  // those that go where even what stands before the last is too wide, behind all of spare
	wrap   bool   // what is last is wrapped, and not cut
	lead   string // before each line that is wrapped of a text that begins so, as comments of a shell do
	rows   [][]cell
}

func (t *table) add(cells ...cell) { t.rows = append(t.rows, cells) }

// widths are those of the columns.
func (t *table) widths() []int {
	widths := slices.Clone(t.least)
	for _, row := range t.rows {
		for i := range row {
			row[i].text = human.Visible(row[i].text)
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], terminal.Width(row[i].text))
		}
	}
	return widths
}

// before is how many columns of the terminal stand before a column of the table.
func (t *table) before(widths []int, column int) int {
	n := terminal.Width(t.indent) + column*terminal.Width(t.gap)
	for _, w := range widths[:column] {
		n += w
	}
	return n
}

// fit leaves out what a terminal has no room for, and reports whether the last column stands below the rows.
func (t *table) fit(columns int) (widths []int, below bool) {
	widths = t.widths()
	if columns <= 0 || len(widths) < 2 {
		return widths, false
	}
	least := roomToCut
	if t.wrap {
		least = roomToWrap
	}
	narrow := func() bool {
		last := len(widths) - 1
		room := columns - t.before(widths, last)
		return room < min(least, widths[last])
	}
	wide := func() bool { return t.before(widths, len(widths)-1)-terminal.Width(t.gap) > columns }
	var gone []int
	for i, column := range slices.Concat(t.spare, t.dear) {
		if i < len(t.spare) && !narrow() || i >= len(t.spare) && !wide() {
			continue
		}
		for _, g := range gone { // columns move as others go
			if g < column {
				column--
			}
		}
		gone = append(gone, column)
		widths = slices.Delete(widths, column, column+1)
		for i, row := range t.rows {
			if column < len(row) {
				t.rows[i] = slices.Delete(slices.Clone(row), column, column+1)
			}
		}
	}
	return widths, narrow()
}

func (t *table) write(to io.Writer, s style) {
	widths, below := t.fit(s.columns)
	for _, row := range t.rows {
		last := len(row) - 1
		for last > 0 && row[last].text == "" {
			last--
		}
		if last < 0 {
			continue
		}
		out, at := row[last], t.before(widths, last)
		if below && last == len(widths)-1 && !out.whole {
			fmt.Fprintln(to, strings.TrimRight(t.indent+t.line(row[:last], widths, s), " "))
			pad := t.indent + strings.Repeat(" ", under)
			for _, text := range t.lines(&out, s.columns-terminal.Width(pad)) {
				fmt.Fprintln(to, pad+s.paint(out.tone, text))
			}
			continue
		}
		lines := []string{out.text}
		if s.columns > 0 && !out.right {
			lines = t.lines(&out, max(s.columns-at, 1))
		}
		line := t.indent + t.line(row[:last], widths, s)
		if last > 0 {
			line += t.gap
		}
		if out.right {
			line += strings.Repeat(" ", max(widths[last]-terminal.Width(out.text), 0))
		}
		fmt.Fprintln(to, line+s.paint(out.tone, lines[0]))
		for _, text := range lines[1:] {
			fmt.Fprintln(to, strings.Repeat(" ", at)+s.paint(out.tone, text))
		}
	}
}

// lines are the text of what stands last, in so many columns.
func (t *table) lines(c *cell, columns int) []string {
	switch {
	case c.whole:
		return []string{c.text}
	case t.wrap && t.lead != "" && strings.HasPrefix(c.text, t.lead):
		lines := terminal.Wrap(strings.TrimPrefix(c.text, t.lead), columns-terminal.Width(t.lead))
		for i := range lines {
			lines[i] = t.lead + lines[i]
		}
		return lines
	case t.wrap:
		return terminal.Wrap(c.text, columns)
	}
	return []string{terminal.Clip(c.text, columns)}
}

// line is the cells before the last, each as wide as its column.
func (t *table) line(row []cell, widths []int, s style) string {
	cells := make([]string, len(row))
	for i, c := range row {
		pad := strings.Repeat(" ", widths[i]-terminal.Width(c.text))
		if cells[i] = s.paint(c.tone, c.text) + pad; c.right {
			cells[i] = pad + s.paint(c.tone, c.text)
		}
	}
	return strings.Join(cells, t.gap)
}
