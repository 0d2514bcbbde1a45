package world

import "slices"

// hiddenPrefix is what a token is replaced with, before the ID of its event: tokens that differ stay different, and the event stays one that can be folded.
const hiddenPrefix = "hidden:"

// HideSecrets returns events without secrets that let their reader act: tokens of hooks, and seeds,
// which determine the run's random numbers. It does not change its argument.
func HideSecrets(events []Event) []Event {
	copied := false
	for i := range events {
		secret := events[i].Token != "" || events[i].Birth != nil && events[i].Birth.Seed != 0
		if !secret {
			continue
		}
		if !copied { // the world may have others that read them
			events, copied = slices.Clone(events), true
		}
		e := &events[i]
		if e.Token != "" {
			e.Token = hiddenPrefix + e.ID
		}
		if e.Birth != nil {
			b := *e.Birth
			b.Seed = 0
			e.Birth = &b
		}
	}
	return events
}

// Hidden reports whether [HideSecrets] replaced the event's token. A run cannot continue from such
// an event.
func Hidden(e *Event) bool { return e.Token != "" && e.Token == hiddenPrefix+e.ID }
