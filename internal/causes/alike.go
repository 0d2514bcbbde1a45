package causes

// What messages of one cause have in common.

import (
	"regexp"
	"strings"
	"unicode"
)

var (
	// ids are those of Stepwell, and UUIDs.
	ids = regexp.MustCompile(`\b(?:[a-z]{4}_)?[0-9A-HJKMNP-TV-Z]{26}\b|[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}`)
	// tokens are words and numbers.
	tokens = regexp.MustCompile(`[0-9A-Za-z]+`)
	// counted is a word with a number behind it.
	counted = regexp.MustCompile(`^[A-Za-z]+[0-9]+$`)
	// digits are a number, with the digits of a hexadecimal one around it.
	digits = regexp.MustCompile(`[0-9a-fA-F]*[0-9][0-9a-fA-F]*`)
	number = regexp.MustCompile(`[0-9]+`)
)

// idLength is how long a word with digits in its midst is that is taken for an ID.
const idLength = 8

// Alike is a message without what differs between runs of one cause: numbers and IDs, also within words.
func Alike(message string) string {
	message = ids.ReplaceAllString(message, "#")
	return tokens.ReplaceAllStringFunc(message, func(word string) string {
		switch {
		case !strings.ContainsFunc(word, unicode.IsDigit):
			return word
		case counted.MatchString(word):
			return number.ReplaceAllString(word, "#")
		case len(word) >= idLength:
			return "#"
		}
		return digits.ReplaceAllString(word, "#")
	})
}
