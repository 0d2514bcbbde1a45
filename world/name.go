package world

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Limits of names, in bytes.
const (
	MaxWorkflowName = 128
	MaxName         = 256
	MaxRunID        = 128
	MaxKey          = 512 // idempotency keys, delivery IDs and tokens
)

// CheckWorkflowName returns [ErrInvalid] unless name matches [A-Za-z0-9_.-]{1,128}.
func CheckWorkflowName(name string) error {
	if len(name) == 0 || len(name) > MaxWorkflowName {
		return fmt.Errorf("%w: workflow name %s: must have 1 to %d bytes, has %d", ErrInvalid, show(name), MaxWorkflowName, len(name))
	}
	for _, r := range name {
		if !isWord(r) && r != '.' && r != '-' {
			return fmt.Errorf("%w: workflow name %s: %q is not allowed; use letters, digits, '_', '.' and '-'", ErrInvalid, show(name), r)
		}
	}
	return nil
}

// AppWorkflows begins the names of workflows whose code runs in apps of Workflow DevKit, and whose
// runs only the apps start: see package server/wdk.
const AppWorkflows = "wdk."

// CheckStart returns [ErrInvalid] for a workflow that only apps of Workflow DevKit may start. A run
// that anybody else started would wait for ever.
func CheckStart(workflow string) error {
	if !strings.HasPrefix(workflow, AppWorkflows) {
		return nil
	}
	return fmt.Errorf("%w: the code of workflow %s runs in an app of Workflow DevKit, and only the app starts its runs: call start() there", ErrInvalid, show(workflow))
}

// CheckKeyID returns [ErrInvalid] unless the ID of an encryption key matches [A-Za-z0-9_.-]{1,64}.
func CheckKeyID(id string) error {
	odd := func(c rune) bool { return !isWord(c) && c != '.' && c != '-' }
	if id == "" || len(id) > maxKeyID || strings.ContainsFunc(id, odd) {
		return fmt.Errorf("%w: encryption key ID %.100q: want 1 to %d characters of [A-Za-z0-9_.-]", ErrInvalid, id, maxKeyID)
	}
	return nil
}

const maxKeyID = 64

// CheckRunID returns [ErrInvalid] for an invalid run ID. An ID has 1 to 128 characters of
// [A-Za-z0-9_.:@~-], and is not "." or "..", which have a meaning in URLs.
func CheckRunID(id string) error {
	if len(id) == 0 || len(id) > MaxRunID {
		return fmt.Errorf("%w: run ID %s: must have 1 to %d bytes, has %d", ErrInvalid, show(id), MaxRunID, len(id))
	}
	if id == "." || id == ".." {
		return fmt.Errorf("%w: run ID %s: not allowed alone", ErrInvalid, show(id))
	}
	for _, r := range id {
		switch {
		case isWord(r), r == '.', r == ':', r == '@', r == '~', r == '-':
		default:
			return fmt.Errorf("%w: run ID %s: %q is not allowed", ErrInvalid, show(id), r)
		}
	}
	return nil
}

// CheckName returns [ErrInvalid] unless a name of a step, wait, event or attribute has 1 to 256
// bytes of printable UTF-8.
func CheckName(what, name string) error { return checkText(what, name, MaxName, show) }

// CheckKey returns [ErrInvalid] unless an idempotency key or delivery ID has 1 to 512 bytes of
// printable UTF-8. For tokens see [CheckToken].
func CheckKey(what, key string) error { return checkText(what, key, MaxKey, show) }

func checkText(what, s string, limit int, show func(string) string) error {
	if len(s) == 0 || len(s) > limit {
		return fmt.Errorf("%w: %s %s: must have 1 to %d bytes, has %d", ErrInvalid, what, show(s), limit, len(s))
	}
	if !utf8.ValidString(s) {
		return fmt.Errorf("%w: %s %s: not valid UTF-8", ErrInvalid, what, show(s))
	}
	for _, r := range s {
		if !unicode.IsPrint(r) {
			return fmt.Errorf("%w: %s %s: %q is not printable: want letters, digits, signs and spaces, and no line ends or controls", ErrInvalid, what, show(s), r)
		}
	}
	return nil
}

func isWord(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_'
}

// show quotes a bad name for an error message, cut to a length that a person still reads.
func show(s string) string {
	if len(s) > 40 {
		n := 40
		for n > 37 && !utf8.RuneStart(s[n]) {
			n--
		}
		return fmt.Sprintf("%q…", s[:n])
	}
	return fmt.Sprintf("%q", s)
}

// MaxVersion is the highest version of a workflow.
const MaxVersion = 1<<31 - 1

// CheckVersion returns [ErrInvalid] for an invalid version. 0 is valid, and leaves the version
// open.
func CheckVersion(v int) error {
	if v < 0 || v > MaxVersion {
		return fmt.Errorf("%w: version %d: want 1 to %d, or 0 for the default", ErrInvalid, v, MaxVersion)
	}
	return nil
}
