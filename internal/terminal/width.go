// Package terminal measures text in the columns of a terminal, and makes it fit. It is beside package human, as it needs a table of wide characters
// that programs of users need not link.
package terminal

import (
	"strings"
	"unicode"

	"golang.org/x/text/width"
)

// Width is how many columns of a terminal a text takes: wide characters, as Chinese ones and emoji, take two, combining marks none.
func Width(text string) (n int) {
	for _, r := range text {
		n += runeWidth(r)
	}
	return n
}

func runeWidth(r rune) int {
	switch {
	case r < 0x300:
		return 1
	case unicode.In(r, unicode.Mn, unicode.Me):
		return 0
	}
	switch width.LookupRune(r).Kind() {
	case width.EastAsianWide, width.EastAsianFullwidth:
		return 2
	default:
		return 1
	}
}

// Clip is a line that takes so many columns at most: what is left out is an ellipsis.
func Clip(line string, columns int) string {
	if Width(line) <= columns {
		return line
	}
	used := 0
	for i, r := range line {
		if used += runeWidth(r); used > columns-1 {
			return strings.TrimRight(line[:i], " ") + "…"
		}
	}
	return line
}

// Wrap breaks a line at spaces, into lines of so many columns at most. A word that takes more stays whole, so that it can be copied.
func Wrap(line string, columns int) (lines []string) {
	for Width(line) > columns {
		fits, first, used := -1, -1, 0
		for i, r := range line {
			if r == ' ' && strings.TrimSpace(line[:i]) != "" {
				if first < 0 {
					first = i
				}
				if used <= columns {
					fits = i
				}
			}
			used += runeWidth(r)
		}
		if fits < 0 {
			fits = first
		}
		if fits < 0 {
			break
		}
		lines = append(lines, strings.TrimRight(line[:fits], " "))
		line = strings.TrimLeft(line[fits:], " ")
	}
	return append(lines, line)
}
