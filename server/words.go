package server

// This file reads the lists of keys and secrets that settings and files have.

import (
	"bufio"
	"errors"
	"fmt"
	"strings"
)

// eachWord reads words with spaces, commas or new lines between them; lines that begin with # are comments. It tells all faults at once, each with its line and what
// a word is, and shows no word.
func eachWord(text, what string, read func(word string) error) error {
	var errs []error
	lines := bufio.NewScanner(strings.NewReader(text))
	for n := 1; lines.Scan(); n++ {
		line := strings.TrimSpace(lines.Text())
		if strings.HasPrefix(line, "#") {
			continue
		}
		for _, word := range strings.FieldsFunc(line, func(r rune) bool { return r == ',' || r == ' ' || r == '\t' }) {
			if err := read(word); err != nil {
				errs = append(errs, fmt.Errorf("%s on line %d: %w", what, n, err))
			}
		}
	}
	return errors.Join(append(errs, lines.Err())...)
}
