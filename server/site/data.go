package site

// This file draws tables of data: files of values with tabs between them, beside the pages.

import (
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
)

// dataLink is a paragraph that is a link to a table and nothing else.
var dataLink = regexp.MustCompile(`(?m)^\[[^\]\n]+\]\(([\w/-]+\.tsv)\)\n`)

// withData is a page with the tables that it links to, each below its link.
func withData(from fs.FS, name string, text []byte) ([]byte, error) {
	var failed error
	with := dataLink.ReplaceAllFunc(text, func(line []byte) []byte {
		file := path.Join(path.Dir(name), string(dataLink.FindSubmatch(line)[1]))
		data, err := fs.ReadFile(from, file)
		if err != nil {
			failed = fmt.Errorf("%s: %w", name, err)
		}
		return slices.Concat(line, []byte("\n"+tableOf(string(data))))
	})
	return with, failed
}

var figure = regexp.MustCompile(`^-?[\d,.]*\d( .*)?$`)

// tableOf writes values with tabs between them as a table in Markdown. A column of figures is aligned to the right.
func tableOf(data string) string {
	lines := strings.Split(strings.TrimSpace(strings.ReplaceAll(data, "\r\n", "\n")), "\n")
	figures := make([]int, strings.Count(lines[0], "\t")+1) // by column; below 0: most are words
	for _, line := range lines[1:] {
		for i, cell := range strings.Split(line, "\t") {
			switch {
			case i >= len(figures), cell == "":
			case figure.MatchString(cell):
				figures[i]++
			default:
				figures[i]--
			}
		}
	}
	aligns := make([]string, len(figures))
	for i, n := range figures {
		if aligns[i] = "---"; n > 0 {
			aligns[i] = "---:"
		}
	}
	var b strings.Builder
	for _, line := range slices.Insert(lines, 1, strings.Join(aligns, "\t")) {
		b.WriteString("| " + strings.NewReplacer("|", `\|`, "<", "&lt;", "\t", " | ").Replace(line) + " |\n")
	}
	return b.String()
}
