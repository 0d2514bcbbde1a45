package world

// This file bounds what people say beside what they do: who they are, and why.

import (
	"fmt"
	"unicode/utf8"
)

// Limits of texts by people, in bytes.
const (
	MaxReason = 1_000 // a reason or a note
	MaxBy     = 512   // the name of an actor
)

// CheckReason returns [ErrInvalid] for a reason or note that is longer than [MaxReason] or not
// UTF-8. "" is valid.
func CheckReason(what, text string) error {
	switch {
	case len(text) > MaxReason:
		return fmt.Errorf("%w: %s %s: must have at most %d bytes, has %d", ErrInvalid, what, show(text), MaxReason, len(text))
	case !utf8.ValidString(text):
		return fmt.Errorf("%w: %s %s: not valid UTF-8", ErrInvalid, what, show(text))
	}
	return nil
}

// CheckBy returns [ErrInvalid] for a name that is not at most [MaxBy] bytes of printable UTF-8. ""
// is valid.
func CheckBy(by string) error {
	if by == "" {
		return nil
	}
	return checkText("by", by, MaxBy, show)
}

// CheckPause returns [ErrInvalid] for an invalid pause of a queue or a schedule; nil is valid.
func CheckPause(p *QueuePause) error {
	if p == nil {
		return nil
	}
	if err := CheckBy(p.By); err != nil {
		return err
	}
	return CheckReason("the reason of a pause", p.Reason)
}

// check refuses what no store keeps.
func (p *Provenance) check() error { return CheckBy(p.By) }

// checkSaid refuses an act of a person whose words are too long. What ends a run, or a segment, says more.
func (e *Event) checkSaid() error {
	switch e.Type {
	case CancelRequested, RunPaused, RunResumed, StepWoken, WaitCompleted:
		if err := CheckBy(e.By); err != nil {
			return fmt.Errorf("%s: %w", e.Type, err)
		}
		return CheckReason(string(e.Type)+": reason", e.Reason)
	}
	return nil
}
