package server

// This file reads the lists of keys and secrets that settings and files have.

import (
	"bufio"
	"errors"
	"fmt"
	"strings"
)

// eachWord reads words with spaces, commas or new lines between them; lines that begin with # are comments. It tells all
// faults at once, each with what a word is and where it stands, and shows no word.
func eachWord(text, what string, read func(word string) error) error {
	var errs []error
	text = strings.TrimRight(text, "\r\n")
	lines := bufio.NewScanner(strings.NewReader(text))
	for n := 1; lines.Scan(); n++ {
		line := strings.TrimSpace(lines.Text())
		if strings.HasPrefix(line, "#") {
			continue
		}
		words := strings.FieldsFunc(line, func(r rune) bool { return r == ',' || r == ' ' || r == '\t' })
		for i, word := range words {
			if err := read(word); err != nil {
				errs = append(errs, fmt.Errorf("%s%s: %w", what, place(text, n, i, len(words)), err))
			}
		}
	}
	return errors.Join(append(errs, lines.Err())...)
}

// place says where a word stands. A value of one line, as an environment variable has, has no lines to a reader: it has
// a number there, if it is one of several.
func place(text string, line, word, words int) string {
	switch {
	case strings.Contains(text, "\n"):
		return fmt.Sprintf(" on line %d", line)
	case words > 1:
		return fmt.Sprintf(" %d of %d", word+1, words)
	}
	return ""
}
