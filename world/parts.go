package world

// This file cuts the log that a run is created with into rows.

// partEvents is how many events a row has at most that was cut: about a page.
const partEvents = 1000

// Parts splits the events of a birth by a client into log rows of at most [MaxCommit] bytes and
// 1,000 events, and at least one event. The parts share memory with events. Other commits are one
// row.
func Parts(events []Event) (parts [][]Event) {
	from, size := 0, 0
	for i := range events {
		n := eventBytes(&events[i])
		if size += n; i > from && (size > MaxCommit || i-from == partEvents) {
			parts, from, size = append(parts, events[from:i:i]), i, n
		}
	}
	return append(parts, events[from:])
}
