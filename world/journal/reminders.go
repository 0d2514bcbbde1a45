package journal

// Reminders: the timers with which a wait does something each so often.

import (
	"strings"
	"unicode/utf8"

	"github.com/stepwell/stepwell/world"
)

// reminders begins the names of the timers with which a wait reminds; the name of what is waited for follows.
const reminders = "remind/"

// Reminder returns the name of a wait's reminder timers: the name of the wait, as far as it fits.
func Reminder(of string) string {
	name := reminders + of
	for len(name) > world.MaxName {
		_, n := utf8.DecodeLastRuneInString(name)
		name = name[:len(name)-n]
	}
	return name
}

// Reminds reports whether the entry is a reminder timer.
func (e *Entry) Reminds() bool {
	return e.Kind == world.KindSleep && strings.HasPrefix(e.Name, reminders)
}
