package main

import (
	"fmt"
	"html"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// The terminal of a recording: columns that a phone can still show, rows, and how much slower it plays than it went.
const (
	columns, rows  = 64, 18
	glyph, leading = 9.0, 20.0
	slower         = 2.0
	rest           = 4.0 // seconds that the end stands before it begins again
)

var moment = regexp.MustCompile(`^ *(\d+\.\d\d) s  `)

// tones are the classes of lines, by what they say; the first that fits.
var tones = []struct{ says, class string }{
	{"kill -9", "bad"}, {" fails ", "warn"}, {" done", "good"}, {"completed", "good"}, {"No finished step", "good"},
}

// terminal draws the output of a program as one that scrolls, line by line, at the times with which lines begin. What
// has no time comes with the line before it; of what follows the last time there is only the end.
func terminal(recording string) []byte {
	lines := strings.Split(strings.TrimSpace(recording), "\n")
	last := 0
	for i, line := range lines {
		if moment.MatchString(line) {
			last = i
		}
	}
	end := slices.IndexFunc(lines, func(line string) bool { return strings.HasPrefix(line, "No finished step") })
	if end < 0 {
		end = len(lines) - 1
	}
	lines = append(append([]string{"$ stepwell demo"}, lines[:last+1]...), "…", lines[end])

	var text, scroll, cover strings.Builder
	at, n := 0.0, 0
	var shown []float64 // when each row is shown
	for _, line := range lines {
		if m := moment.FindStringSubmatch(line); m != nil {
			at, _ = strconv.ParseFloat(m[1], 64) // it is a number
		}
		class := "plain"
		for _, tone := range tones {
			if strings.Contains(line, tone.says) {
				class = tone.class
				break
			}
		}
		for _, row := range wrap(line) {
			n++
			shown = append(shown, at*slower)
			fmt.Fprintf(&text, "<text class=\"%s\" y=\"%g\">%s</text>\n", class, leading*float64(n), html.EscapeString(row))
		}
	}
	total := at*slower + rest
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
.bad { fill: #ff8e85; font-weight: bold } .warn { fill: #e3b341 } .good { fill: #56d364 }
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
		leading*float64(n), cover.String())
}

// up is how far the rows are moved where n of them are shown.
func up(n int) float64 { return leading * float64(min(0, rows-n)) }

// wrap breaks a line at a space, or where there is none as a terminal does; what follows stands behind the time.
func wrap(line string) (parts []string) {
	indent := []rune(strings.Repeat(" ", len(moment.FindString(line))))
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
