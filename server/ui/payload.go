package ui

// This file shows payloads: JSON with its lines broken, if that does not make it much longer, and cut where it is long. What it shows is text, whatever it
// holds: signs that would be invisible, or turn the direction of writing, are written out.

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/stepwell/stepwell/internal/human"
	"github.com/stepwell/stepwell/world"
)

// How much of a payload stands in a list, and on a page of its own.
const (
	someBytes = 4 << 10
	mostBytes = 1 << 20
)

// payload is a value as pages show it.
type payload struct {
	Line string // on one line, folded
	Text string // on many, cut
	Size string // of the whole
	Cut  bool
	More string // where the whole is; "": nowhere

	Values []keptValue // the blobs that it names, some of them
}

// keptValue is a value that is kept apart, and where it can be loaded.
type keptValue struct{ ID, Size, Path string }

// mostValues is how many of the blobs that a payload names have a link.
const mostValues = 20

// naming adds the way to the blobs that a payload of a run names. Whether the run holds them is asked there.
func (p *payload) naming(run string, b []byte) *payload {
	if p == nil {
		return nil
	}
	for _, of := range world.Named(b) {
		if len(p.Values) < mostValues {
			p.Values = append(p.Values, keptValue{of.ID, human.Size(int(of.Size)), runPath(run) + "/values/" + of.ID})
		}
	}
	return p
}

// lineWidth is how many characters a folded payload has.
const lineWidth = 72

// valueOf shows a payload that may be kept apart, as an ID says.
func valueOf(b []byte, apart string, most int, more string) *payload {
	of, ok := world.ReadApart(b, apart)
	if !ok {
		return payloadOf(b, most, more)
	}
	text := human.Size(int(of.Size)) + ", kept apart"
	return &payload{Size: human.Size(int(of.Size)), Line: text, Text: text + " as " + of.ID, Cut: more != "", More: more}
}

// payloadOf shows at most so many bytes; nil where there is no payload.
func payloadOf(b []byte, most int, more string) *payload {
	if len(b) == 0 {
		return nil
	}
	p := &payload{Size: human.Size(len(b)), Line: fold(b)}
	text := pretty(b, most)
	if len(text) > most {
		text, p.Cut, p.More = text[:most], true, more
		for n := 0; n < utf8.UTFMax && !utf8.Valid(text); n++ {
			text = text[:len(text)-1]
		}
	}
	p.Text = visible(string(text))
	return p
}

// encryptedText is what stands in the place of what this server cannot read.
func encryptedText(key string) string {
	return "encrypted with key " + visible(key) + ", which this server does not have"
}

// encryptedPayload stands in the place of a payload that this server cannot read.
func encryptedPayload(key string, b []byte) *payload {
	if len(b) == 0 {
		return nil
	}
	return &payload{Line: encryptedText(key), Text: encryptedText(key), Size: human.Size(len(b))}
}

// fold is the beginning of a payload on one line.
func fold(b []byte) string {
	head := b
	if len(head) > 4*lineWidth {
		head = bytes.ToValidUTF8(head[:4*lineWidth], nil)
		return human.Cut(string(head), lineWidth-12) + " (" + human.Size(len(b)) + ")"
	}
	return human.Fold(string(head), lineWidth)
}

// pretty breaks the lines of JSON, unless it is so long or so deep that the result would be much longer.
func pretty(b []byte, most int) []byte {
	depth, deepest, breaks := 0, 0, 0
	text, escaped := false, false
	for _, c := range b {
		switch {
		case escaped:
			escaped = false
		case text:
			escaped, text = c == '\\', c != '"'
		case c == '"':
			text = true
		case c == '{' || c == '[':
			depth, breaks = depth+1, breaks+1
			deepest = max(deepest, depth)
		case c == '}' || c == ']':
			depth, breaks = depth-1, breaks+1
		case c == ',':
			breaks++
		}
	}
	if len(b) > 4*most || len(b)+breaks*(2*deepest+1) > 16*most {
		return b
	}
	var out bytes.Buffer
	if err := json.Indent(&out, b, "", "  "); err != nil {
		return b
	}
	return out.Bytes()
}

// visible writes out what would not be seen as it is.
func visible(s string) string {
	hidden := func(r rune) bool { return r != '\n' && r != '\t' && !unicode.IsPrint(r) }
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
