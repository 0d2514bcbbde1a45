package world

// This file says which values a payload names: those that are read as streams, and are no part of the payload.

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"iter"
	"strings"
)

// MaxNamed is how many values a payload may name.
const MaxNamed = 1000

// beside begins, in an [Event].Apart, the ID of a value that the payload names.
const beside = "+"

// SplitApart splits an [Event].Apart into the value that replaces the payload and the values that
// the payload names. "valu_A" is the first kind, "+valu_B+valu_C" the second. "valu_A+valu_B" is
// both: a value that is stored apart and itself names another.
func SplitApart(apart string) (whole string, names []string) {
	whole, rest, ok := strings.Cut(apart, beside)
	if ok {
		names = strings.Split(rest, beside)
	}
	return whole, names
}

// WholeApart returns the value that replaces a payload, from its [Event].Apart; "": the payload is
// the value.
func WholeApart(apart string) string {
	whole, _, _ := strings.Cut(apart, beside)
	return whole
}

// JoinApart is the inverse of [SplitApart].
func JoinApart(whole string, names []string) string {
	for _, id := range names {
		whole += beside + id
	}
	return whole
}

// blobMark is the name of the member that holds a reference to a value which a payload names. In the text of a string
// its quotes would be escaped: what is found, with a colon behind it, is a member of an object.
const blobMark = `"stepwell:blob"`

// Named returns the values that a payload names, each once, at most [MaxNamed]. It ignores JSON
// that only resembles a reference.
func Named(payload []byte) (refs []Apart) { return named(payload, MaxNamed) }

// CheckNamed returns [ErrTooLarge] for a payload that names too many values.
func CheckNamed(payload []byte) error {
	if len(payload) > MaxNamed*len(blobMark) && len(named(payload, MaxNamed+1)) > MaxNamed {
		return fmt.Errorf("%w: value refers to more than %d blobs", ErrTooLarge, MaxNamed)
	}
	return nil
}

func named(payload []byte, most int) (refs []Apart) {
	var known map[string]bool
	for text := range marked(payload) {
		var a Apart
		if json.Unmarshal(text, &a) != nil || a.Check() != nil || known[a.ID] {
			continue
		}
		if known == nil {
			known = make(map[string]bool)
		}
		known[a.ID] = true
		if refs = append(refs, a); len(refs) == most {
			break
		}
	}
	return refs
}

// marked are the objects behind marks that hold no others, as a reference does not. They do not overlap: who reads
// them all reads no more than the payload, whatever it nests.
func marked(payload []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		for {
			at := bytes.Index(payload, []byte(blobMark))
			if at < 0 {
				return
			}
			escaped := at > 0 && payload[at-1] == '\\' // the quote: that is in a text
			payload = payload[at+len(blobMark):]
			text, ok := bytes.CutPrefix(trimSpace(payload), []byte(":"))
			if text = trimSpace(text); escaped || !ok || len(text) == 0 || text[0] != '{' {
				continue
			}
			payload = text[1:]
			if end := 1 + bytes.IndexAny(payload, "{}"); end > 0 && text[end] == '}' && !yield(text[:end+1]) {
				return
			}
		}
	}
}

// trimSpace leaves out the white space of JSON that a text begins with.
func trimSpace(text []byte) []byte { return bytes.TrimLeft(text, " \t\r\n") }

// Check returns [ErrInvalid] for an invalid reference.
func (a *Apart) Check() error {
	if err := CheckApart(a.ID); err != nil {
		return err
	}
	if _, err := hex.DecodeString(a.SHA256); err != nil || len(a.SHA256) != 2*sha256.Size || a.Size < 0 || a.Size > MaxApart {
		return fmt.Errorf("%w: value %s: want a size of 0 to %d bytes, and a SHA-256 of 64 hexadecimal digits", ErrInvalid, a.ID, MaxApart)
	}
	return nil
}
