package draw

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

// Cell is one place in a table.
type Cell struct {
	Text  string
	Tone  Tone
	Right bool // flush right
	Whole bool // never cut: a command line that is pasted
}

// Table lines up rows of cells, and shows what a terminal would obey as text. Where the width of the terminal is known, what
// stands last in a row and is too long for it is cut, or wrapped under itself.
type Table struct {
	Indent string
	Gap    string
	Least  []int  // widths of columns, at least
	Spare  []int  // columns that narrow terminals do not get, the first to go first
	Dear   []int  // those that go where even what stands before the last is too wide, behind all of Spare
	Wrap   bool   // what is last is wrapped, and not cut
	Lead   string // before each line that is wrapped of a text that begins so, as comments of a shell do
	rows   [][]Cell
}

// Add adds a row.
func (t *Table) Add(cells ...Cell) { t.rows = append(t.rows, cells) }

// Rows is how many there are.
func (t *Table) Rows() int { return len(t.rows) }

// widths are those of the columns.
func (t *Table) widths() []int {
	widths := slices.Clone(t.Least)
	for _, row := range t.rows {
		for i := range row {
			row[i].Text = human.Visible(row[i].Text)
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], terminal.Width(row[i].Text))
		}
	}
	return widths
}

// before is how many columns of the terminal stand before a column of the table.
func (t *Table) before(widths []int, column int) int {
	n := terminal.Width(t.Indent) + column*terminal.Width(t.Gap)
	for _, w := range widths[:column] {
		n += w
	}
	return n
}

// fit leaves out what a terminal has no room for, and reports whether the last column stands below the rows.
func (t *Table) fit(columns int) (widths []int, below bool) {
	widths = t.widths()
	if columns <= 0 || len(widths) < 2 {
		return widths, false
	}
	least := roomToCut
	if t.Wrap {
		least = roomToWrap
	}
	narrow := func() bool {
		last := len(widths) - 1
		room := columns - t.before(widths, last)
		return room < min(least, widths[last])
	}
	wide := func() bool { return t.before(widths, len(widths)-1)-terminal.Width(t.Gap) > columns }
	var gone []int
	for i, column := range slices.Concat(t.Spare, t.Dear) {
		if i < len(t.Spare) && !narrow() || i >= len(t.Spare) && !wide() {
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

// Write writes the rows.
func (t *Table) Write(to io.Writer, s Style) {
	widths, below := t.fit(s.Columns)
	for _, row := range t.rows {
		last := len(row) - 1
		for last > 0 && row[last].Text == "" {
			last--
		}
		if last < 0 {
			continue
		}
		out, at := row[last], t.before(widths, last)
		if below && last == len(widths)-1 && !out.Whole {
			fmt.Fprintln(to, strings.TrimRight(t.Indent+t.line(row[:last], widths, s), " "))
			pad := t.Indent + strings.Repeat(" ", under)
			for _, text := range t.lines(&out, s.Columns-terminal.Width(pad)) {
				fmt.Fprintln(to, pad+s.Paint(out.Tone, text))
			}
			continue
		}
		lines := []string{out.Text}
		if s.Columns > 0 && !out.Right {
			lines = t.lines(&out, max(s.Columns-at, 1))
		}
		line := t.Indent + t.line(row[:last], widths, s)
		if last > 0 {
			line += t.Gap
		}
		if out.Right {
			line += strings.Repeat(" ", max(widths[last]-terminal.Width(out.Text), 0))
		}
		fmt.Fprintln(to, line+s.Paint(out.Tone, lines[0]))
		for _, text := range lines[1:] {
			fmt.Fprintln(to, strings.Repeat(" ", at)+s.Paint(out.Tone, text))
		}
	}
}

// lines are the text of what stands last, in so many columns.
func (t *Table) lines(c *Cell, columns int) []string {
	switch {
	case c.Whole:
		return []string{c.Text}
	case t.Wrap && t.Lead != "" && strings.HasPrefix(c.Text, t.Lead):
		lines := terminal.Wrap(strings.TrimPrefix(c.Text, t.Lead), columns-terminal.Width(t.Lead))
		for i := range lines {
			lines[i] = t.Lead + lines[i]
		}
		return lines
	case t.Wrap:
		return terminal.Wrap(c.Text, columns)
	}
	return []string{terminal.Clip(c.Text, columns)}
}

// line is the cells before the last, each as wide as its column.
func (t *Table) line(row []Cell, widths []int, s Style) string {
	cells := make([]string, len(row))
	for i, c := range row {
		pad := strings.Repeat(" ", widths[i]-terminal.Width(c.Text))
		if cells[i] = s.Paint(c.Tone, c.Text) + pad; c.Right {
			cells[i] = pad + s.Paint(c.Tone, c.Text)
		}
	}
	return strings.Join(cells, t.Gap)
}
