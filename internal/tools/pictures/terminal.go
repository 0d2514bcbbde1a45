package main

import (
	"fmt"
	"html"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// The terminal of a recording: columns that a phone can still show, and rows. One with times plays slower than it went;
// a session has pauses, and for each line of an answer the time to read it. All are in seconds.
const (
	columns, rows  = 64, 18
	glyph, leading = 9.0, 20.0
	slower         = 2.0
	pause, perLine = 1.0, 0.35
	rest           = 4.0 // that the end stands before it begins again
	prompt         = "$ "
)

var moment = regexp.MustCompile(`^ *(\d+\.\d\d) s  `)

// tones are the classes of lines, by what they say; the first that fits.
var tones = []struct{ says, class string }{
	{"kill -9", "bad"}, {" fails ", "warn"}, {" done", "good"}, {"completed", "good"}, {"No finished step", "good"},
	{"waiting to try", "warn"}, {"connection refused", "warn"}, {"sleeping in", "good"}, {"ended ", "good"},
}

// line is one that a terminal shows, and the second at which it does.
type line struct {
	at   float64
	text string
}

// recordings says how each recording is read, by the name of its file.
var recordings = map[string]func(lines []string) []line{
	"demo": func(lines []string) []line { return timed("make demo", "No finished step", lines) },
	"why":  typed,
}

// timed reads the output of a command whose lines begin with the seconds at which they came. A line without them comes
// with the one before it; of what follows the last time there is only the line that begins with end.
func timed(command, end string, lines []string) []line {
	last := 0
	for i, text := range lines {
		if moment.MatchString(text) {
			last = i
		}
	}
	final := slices.IndexFunc(lines, func(text string) bool { return strings.HasPrefix(text, end) })
	if final < 0 {
		final = len(lines) - 1
	}
	shown := []line{{text: "$ " + command}}
	at := 0.0
	for _, text := range append(slices.Clone(lines[:last+1]), "…", lines[final]) {
		if m := moment.FindStringSubmatch(text); m != nil {
			at, _ = strconv.ParseFloat(m[1], 64) // it is a number
		}
		shown = append(shown, line{at * slower, text})
	}
	return shown
}

// typed reads a session: what is typed begins with "$ ". The answer comes after a moment, and then there is time to read it.
func typed(lines []string) (shown []line) {
	at, unread := 0.0, 0
	for i, text := range lines {
		command := strings.HasPrefix(text, prompt)
		switch {
		case i == 0:
		case command:
			at, unread = at+pause+perLine*float64(unread), 0
		case unread == 0:
			at += pause
		}
		if !command {
			unread++
		}
		shown = append(shown, line{at, text})
	}
	return shown
}

// terminal draws a recording as a terminal that scrolls, line by line.
func terminal(name, recording string) ([]byte, error) {
	read := recordings[name]
	if read == nil {
		return nil, fmt.Errorf("terminal.go does not say how the recording %q is read", name)
	}
	lines := read(strings.Split(strings.TrimSpace(recording), "\n"))
	var text, scroll, cover strings.Builder
	n := 0
	var shown []float64 // when each row is shown
	for _, one := range lines {
		for _, row := range wrap(one.text) {
			n++
			shown = append(shown, one.at)
			fmt.Fprintf(&text, "<text class=\"%s\" y=\"%g\">%s</text>\n", classOf(one.text), leading*float64(n), html.EscapeString(row))
		}
	}
	total := shown[n-1] + rest
	for i, when := range shown {
		if i+1 < len(shown) && shown[i+1] == when {
			continue // they come together
		}
		fmt.Fprintf(&scroll, "%.2f%% { transform: translateY(%gpx) }\n", 100*when/total, up(i+1))
		fmt.Fprintf(&cover, "%.2f%% { transform: translateY(%gpx) }\n", 100*when/total, leading*float64(i+1))
	}
	width, height := glyph*columns+24, leading*rows+24
	return fmt.Appendf(nil, `<svg xmlns="http://www.w3.org/2000/svg" width="%[1]g" height="%[2]g" viewBox="0 0 %[1]g %[2]g">
<style>
text { font: 15px ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; white-space: pre; fill: #d1d7e0 }
.typed { fill: #fff; font-weight: bold } .bad { fill: #ff8e85; font-weight: bold } .warn { fill: #e3b341 } .good { fill: #56d364 }
.all { transform: translateY(%[3]gpx); animation: scroll %.1[4]fs step-end infinite }
.yet { transform: translateY(%[9]gpx); animation: cover %.1[4]fs step-end infinite }
@media (prefers-reduced-motion: reduce) { .all, .yet { animation: none } }
@keyframes scroll {
%[5]s}
@keyframes cover {
%[10]s}
</style>
<rect width="100%%" height="100%%" rx="8" fill="#151b23"/>
<svg x="12" y="8" width="%[6]g" height="%[7]g"><g class="all">
%[8]s<rect class="yet" y="6" width="100%%" height="%[7]g" fill="#151b23"/></g></svg>
</svg>`, width, height, up(n), total, scroll.String(), glyph*columns, leading*rows+8, text.String(),
		leading*float64(n), cover.String()), nil
}

func classOf(text string) string {
	if strings.HasPrefix(text, prompt) {
		return "typed"
	}
	for _, tone := range tones {
		if strings.Contains(text, tone.says) {
			return tone.class
		}
	}
	return "plain"
}

// up is how far the rows are moved where n of them are shown.
func up(n int) float64 { return leading * float64(min(0, rows-n)) }

// wrap breaks a line at a space, or where there is none as a terminal does; what follows stands behind the time, or a
// little to the right.
func wrap(line string) (parts []string) {
	indent := []rune(strings.Repeat(" ", max(4, len(moment.FindString(line)))))
	for r := []rune(line); ; {
		if len(r) <= columns {
			return append(parts, string(r))
		}
		end := columns
		if i := strings.LastIndex(string(r[:columns]), " "); i > columns/2 {
			end = len([]rune(string(r[:columns])[:i])) + 1
		}
		parts = append(parts, string(r[:end]))
		r = append(indent[:len(indent):len(indent)], r[end:]...)
	}
}
