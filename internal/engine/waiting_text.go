package engine

// This file notes, for lists of runs and for the answer to why one does not move, what a hibernating run waits for, in a few words.

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/stepwell/stepwell/internal/replay"
	"github.com/stepwell/stepwell/world"
)

// mostNoted bounds how many open steps and waits are looked at: a run may have thousands.
const mostNoted = 64

// SetAside is said of what waits on, as a payload that came does not fit it.
const SetAside = " (a payload was set aside)"

// Listens is said of a wait for an event that gets what is published, too.
const Listens = " (also when it is published)"

// taken is said of a wait for an event of which earlier waits, that nobody read, took payloads.
const taken = " (payloads taken by waits that nobody read: %d)"

// CutTaken parts what a run's row says of such payloads, how many there are, from what follows it.
func CutTaken(text string) (n int, rest string) {
	if _, err := fmt.Sscanf(text, taken, &n); err != nil {
		return 0, text
	}
	return n, strings.TrimPrefix(text, fmt.Sprintf(taken, n))
}

// noted is something that a run waits for.
type noted struct {
	text  string
	who   replay.Awaiting
	order int // kinds of waits, by what people ask for first
	until time.Time
	id    string
}

// waitingFor says what the run waits for: the event, sleep, retry, step or run, and how many more. What is open and nobody waits for, as a timer that has
// lost a race, is not said, unless there is nothing else.
func waitingFor(state *world.State, m *replay.Machine) string {
	var first noted
	awaited, all := 0, true
	see := func(n noted) {
		if n.who < replay.Unawaited {
			awaited++
		}
		if first.text == "" || cmp.Or(cmp.Compare(n.who, first.who), cmp.Compare(n.order, first.order), n.until.Compare(first.until), cmp.Compare(n.id, first.id)) < 0 {
			first = n
		}
	}
	left := mostNoted
	for w := range state.Waits() {
		if left--; left < 0 {
			all = false
			break
		}
		n := notedAs(m, w.Kind, w.Key, w.ID, "", false)
		n.until = w.Until
		if w.Listens {
			n.text += Listens
		}
		if w.Aside {
			n.text += SetAside
		}
		if w.Kind == world.KindEvent && n.who < replay.Unawaited {
			if lost := m.Taken(w.Key.Name); lost > 0 {
				n.text += fmt.Sprintf(taken, lost)
			}
		}
		see(n)
	}
	left = mostNoted
	for st := range state.Steps() {
		if left--; left < 0 {
			all = false
			break
		}
		see(notedAs(m, st.Kind, st.Key, st.ID, st.Peer, !st.RetryAt.IsZero()))
	}
	left = mostNoted
	for h := range state.Hooks() {
		if left--; left < 0 {
			break
		}
		if n := notedAs(m, world.KindHook, h.Key, h.ID, "", false); n.who < replay.Unawaited || first.text == "" {
			if h.Aside {
				n.text += SetAside
			}
			see(n)
		}
	}
	if n := notedAs(m, world.KindCondition, world.Key{}, "", "", false); n.who < replay.Unawaited {
		see(n)
	}
	if steps, waits := state.Open(); first.text != "" && !all {
		awaited = steps + waits
	}
	if awaited > 1 {
		first.text += fmt.Sprintf(" and %d more", awaited-1)
	}
	return first.text
}

// notedAs is something that is open; without an ID, a condition without a deadline, which the log does not know.
func notedAs(m *replay.Machine, kind world.Kind, key world.Key, id, peer string, retry bool) noted {
	n := noted{text: Noted(kind, key, peer, retry), id: id}
	switch {
	case kind == world.KindEvent, kind == world.KindReceive, kind == world.KindHook: // of people, who may be asked
	case kind == world.KindCondition:
		n.order = 1
	case kind == world.KindChild || kind == world.KindAwait:
		n.order = 3
	case kind == world.KindSleep:
		n.order = 4
	default:
		n.order = 2
	}
	if id == "" {
		n.who = m.AwaitedCondition()
	} else {
		n.who = m.Awaited(id)
	}
	return n
}

// Noted is what a run's row says of something that the run waits for; more may follow it.
func Noted(kind world.Kind, key world.Key, peer string, retry bool) string {
	switch {
	case kind == world.KindEvent:
		return fmt.Sprintf("event %q", key.Name)
	case kind == world.KindCondition:
		return "a condition"
	case kind == world.KindSleep:
		return fmt.Sprintf("sleep %q", key)
	case kind == world.KindHook:
		return fmt.Sprintf("hook %q", key)
	case kind == world.KindReceive: // else it could be taken for the hook itself
		return fmt.Sprintf("hook %q (it has a deadline)", key.Name)
	case kind == world.KindChild || kind == world.KindAwait:
		return "run " + peer
	case retry:
		return fmt.Sprintf("retry of %q", key)
	}
	return fmt.Sprintf("step %q", key)
}
