package docs_test

// The short table of a page is held to the data that it is a part of.

import (
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

var (
	workloadRow = regexp.MustCompile("(?m)^\\| `([^`]+)`: [^|]*\\| ([^|]*) \\| ([^|]*) \\|$")
	firstFigure = regexp.MustCompile(`^([\d,.]+) ([\w/×]+)`)
	ratio       = regexp.MustCompile(`([\d.]+) × ([A-Za-z-]+)`)
)

// TestFiguresAreMeasured: each figure of docs/performance.md, and each ratio, is that of docs/data/performance.tsv.
func TestFiguresAreMeasured(t *testing.T) {
	t.Parallel()
	measured := map[string][]string{}
	for line := range strings.Lines(read(t, "docs/data/performance.tsv")) {
		cells := strings.Split(strings.TrimRight(line, "\n"), "\t")
		measured[strings.Join(cells[:3], " ")] = cells[3:]
	}
	n := 0
	// near reports whether a figure is another one with fewer digits, whatever their units of time.
	near := func(got, unit, want string) bool {
		m := firstFigure.FindStringSubmatch(want)
		if m == nil {
			return false
		}
		x, _ := strconv.ParseFloat(strings.ReplaceAll(got, ",", ""), 64)
		y, _ := strconv.ParseFloat(strings.ReplaceAll(m[1], ",", ""), 64)
		if unit == "s" && m[2] == "ms" {
			unit, x = "ms", x*1000
		}
		n++
		return unit == m[2] && math.Abs(x-y) <= 0.05*y
	}
	rows := workloadRow.FindAllStringSubmatch(read(t, "docs/performance.md"), -1)
	for _, row := range rows {
		for i, store := range []string{"sqlite", "postgres"} {
			cell := row[2+i]
			m := firstFigure.FindStringSubmatch(cell)
			if own := measured[row[1]+" "+store+" stepwell"]; m == nil || own == nil || !near(m[1], m[2], own[0]) {
				t.Errorf("%s on %s: the page has %q, measured is %q", row[1], store, cell, own)
			}
			for _, m := range ratio.FindAllStringSubmatch(cell, -1) {
				engine := strings.ReplaceAll(strings.ToLower(m[2]), "-", "")
				if peer := measured[row[1]+" "+store+" "+engine]; peer == nil || !near(m[1], "×", peer[1]) {
					t.Errorf("%s on %s: the page has %q, measured is %q", row[1], store, m[0], peer)
				}
			}
		}
	}
	if len(rows) < 8 || n < 30 {
		t.Errorf("got %d rows with %d figures, want those of the page", len(rows), n)
	}
}
