package cli

// This file keeps what comes from elsewhere, a server, a run, a worker, from steering the terminal that it is shown on.

import (
	"bytes"
	"fmt"
	"io"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// visibleJSON writes JSON, whole values at once, so that what is not printable is escaped: the value is the same.
type visibleJSON struct{ to io.Writer }

// Write writes JSON.
func (v visibleJSON) Write(b []byte) (int, error) {
	if utf8.Valid(b) && !bytes.ContainsFunc(b, unseen) {
		return v.to.Write(b)
	}
	out := make([]byte, 0, len(b)+64)
	for _, r := range string(b) {
		switch hi, lo := utf16.EncodeRune(r); {
		case !unseen(r):
			out = append(out, string(r)...)
		case hi != unicode.ReplacementChar:
			out = fmt.Appendf(out, `\u%04x\u%04x`, hi, lo)
		default:
			out = fmt.Appendf(out, `\u%04x`, r)
		}
	}
	if _, err := v.to.Write(out); err != nil {
		return 0, err
	}
	return len(b), nil
}

// unseen reports whether a character of JSON steers a terminal: C0 is escaped in JSON already, C1, DEL and what turns the direction of writing is not.
func unseen(r rune) bool { return r >= 0x7f && !unicode.IsPrint(r) }
