package journal

// Reminders: the timers with which a wait does something each so often.

import (
	"strings"
	"unicode/utf8"

	"github.com/stepwell/stepwell/world"
)

// reminders begins the names of the timers with which a wait reminds; the name of what is waited for follows.
const reminders = "remind/"

// Reminder is the name of the timers with which a wait reminds: that of what is waited for, as far as it fits.
func Reminder(of string) string {
	name := reminders + of
	for len(name) > world.MaxName {
		_, n := utf8.DecodeLastRuneInString(name)
		name = name[:len(name)-n]
	}
	return name
}

// Reminds reports whether the entry is such a timer.
func (e *Entry) Reminds() bool {
	return e.Kind == world.KindSleep && strings.HasPrefix(e.Name, reminders)
}
