package world

// This file says which values a payload names: those that are read as streams, and are no part of the payload.

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// MaxNamed is how many values a payload may name.
const MaxNamed = 1000

// beside begins, in an [Event].Apart, the ID of a value that the payload names.
const beside = "+"

// SplitApart splits an [Event].Apart: the value that the payload refers to, which stands in its place, and those that
// the payload names. It is "valu_A" for the first, "+valu_B+valu_C" for the others, and "valu_A+valu_B" where the value
// that names others is itself kept apart.
func SplitApart(apart string) (whole string, names []string) {
	whole, rest, ok := strings.Cut(apart, beside)
	if ok {
		names = strings.Split(rest, beside)
	}
	return whole, names
}

// WholeApart is the value that a payload refers to, by its [Event].Apart; "": the payload is the value.
func WholeApart(apart string) string {
	whole, _, _ := strings.Cut(apart, beside)
	return whole
}

// JoinApart is what [SplitApart] splits.
func JoinApart(whole string, names []string) string {
	for _, id := range names {
		whole += beside + id
	}
	return whole
}

// blobMark begins a reference to a value that a payload names, as encoding/json writes it. In the text of a string its
// quotes would be escaped: what is found is an object.
const blobMark = `{"stepwell:blob":`

// Named are the references of a payload to values that it names, each value once, and at most [MaxNamed]. What only
// looks like one is left out.
func Named(payload []byte) (refs []Apart) { return named(payload, MaxNamed) }

// CheckNamed refuses, with [ErrTooLarge], a payload that names too many values.
func CheckNamed(payload []byte) error {
	if len(payload) > MaxNamed*len(blobMark) && len(named(payload, MaxNamed+1)) > MaxNamed {
		return fmt.Errorf("%w: value refers to more than %d blobs", ErrTooLarge, MaxNamed)
	}
	return nil
}

func named(payload []byte, most int) (refs []Apart) {
	for len(refs) < most {
		at := bytes.Index(payload, []byte(blobMark))
		if at < 0 {
			break
		}
		payload = payload[at+len(blobMark):]
		var a Apart
		end := bytes.IndexByte(payload, '}') // a reference has no braces
		if end < 0 || json.Unmarshal(payload[:end+1], &a) != nil || a.Check() != nil {
			continue
		}
		if !slices.ContainsFunc(refs, func(b Apart) bool { return a.ID == b.ID }) {
			refs = append(refs, a)
		}
	}
	return refs
}

// Check refuses, with [ErrInvalid], what can be no reference to a value.
func (a *Apart) Check() error {
	if err := CheckApart(a.ID); err != nil {
		return err
	}
	if _, err := hex.DecodeString(a.SHA256); err != nil || len(a.SHA256) != 2*sha256.Size || a.Size < 0 || a.Size > MaxApart {
		return fmt.Errorf("%w: value %s: want a size of 0 to %d bytes, and a SHA-256 of 64 hexadecimal digits", ErrInvalid, a.ID, MaxApart)
	}
	return nil
}
