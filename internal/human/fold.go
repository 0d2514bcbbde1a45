package human

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Fold is a text, such as a payload, on one line of at most width characters. What is left out is told by its size: `{"items":[1,2… (3.2 kB)`.
// Characters that a terminal would act on are shown as they are written in Go.
func Fold(text string, width int) string {
	line := Line(text)
	if utf8.RuneCountInString(line) <= width {
		return line
	}
	tail := "… (" + Size(len(text)) + ")"
	runes := []rune(line)
	return string(runes[:max(width-utf8.RuneCountInString(tail), 1)]) + tail
}

// Cut is a text, such as a sentence, on one line of at most width characters.
func Cut(text string, width int) string {
	line := Line(text)
	if utf8.RuneCountInString(line) <= width {
		return line
	}
	return string([]rune(line)[:max(width-1, 0)]) + "…"
}

// Line is a text on one line.
func Line(text string) string { return Visible(strings.Join(strings.Fields(text), " ")) }

// Visible replaces what is not printable, so that a payload cannot steer a terminal.
func Visible(s string) string {
	if !strings.ContainsFunc(s, hidden) {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		if hidden(r) {
			fmt.Fprintf(&b, "\\u%04x", r)
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}

// VisibleLines is Visible of a text of several lines, as a stack is: they stay lines, and a tab is four spaces.
func VisibleLines(text string) string {
	lines := strings.Split(strings.ReplaceAll(text, "\t", "    "), "\n")
	for i := range lines {
		lines[i] = Visible(lines[i])
	}
	return strings.Join(lines, "\n")
}

func hidden(r rune) bool { return !unicode.IsPrint(r) }

// Size is a number of bytes: "812 B", "3.2 kB", "1.0 MB".
func Size(n int) string {
	switch {
	case n < 1000:
		return fmt.Sprintf("%d B", n)
	case n < 1000_000:
		return fmt.Sprintf("%.1f kB", float64(n)/1e3)
	default:
		return fmt.Sprintf("%.1f MB", float64(n)/1e6)
	}
}

// Count is a number with its noun: "1 step", "3 steps". The plural takes an s.
func Count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
