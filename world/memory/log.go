// The log of a run: a row for each commit, encoded as in every other world. So readers share nothing with writers, and a long
// log is no work for the garbage collector.

package memory

import (
	"fmt"
	"sort"
	"time"

	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/layout"
)

// Rows are written to blocks that double in size between these.
const (
	smallestBlock = 1 << 10
	largestBlock  = 64 << 10
)

// record is one commit in the log.
type record struct {
	first, last int64 // numbers of its events
	row         []byte
	head        int // length of the row's head; the body follows
}

// at returns the index of the record that holds the event with a number, or where it would be.
func (r *run) at(seq int64) int {
	return sort.Search(len(r.log), func(i int) bool { return r.log[i].last >= seq })
}

// row is an encoded commit that is not in the log yet: the bytes of its head, then its body.
type row struct {
	bytes  []byte
	head   int
	events []world.Event
}

// encode makes the row of a commit in the world's buffer. It is good until the next call.
func (w *World) encode(c *world.Commit, birth time.Time, events []world.Event) (row, error) {
	head, body, err := layout.AppendRow(w.head[:0], w.body[:0], c.ID, c.Build, birth, events)
	if err != nil {
		return row{}, fmt.Errorf("run %s: commit at event %d: %w", c.Run, c.First, err)
	}
	n := len(head)
	w.head, w.body = append(head, body...), body
	return row{w.head, n, events}, nil
}

// append writes a row to the log and follows what its events say about the run's row.
func (w *World) append(r *run, enc row) {
	first, events := r.seq+1, enc.events
	r.seq += int64(len(events))
	r.time = events[len(events)-1].Time
	r.log = append(r.log, record{first: first, last: r.seq, row: r.store(enc.bytes), head: enc.head})
	w.counters.RowsWritten++
	w.apart.named(r.id, "", events)
	for i := range events {
		w.follow(r, &events[i], first+int64(i))
	}
	w.topics.listens.follow(r, events, w.topics.last)
}

// store copies a row to where it stays.
func (r *run) store(row []byte) []byte {
	n := len(row)
	if cap(r.room) < n {
		size := smallestBlock
		for size < largestBlock && size < 128*len(r.log) {
			size *= 2
		}
		r.room = make([]byte, 0, max(size, n))
	}
	kept := append(r.room[:0:n], row...)
	r.room = r.room[n:n]
	return kept
}

// read decodes a commit, as readers get it, and tells its ID. It needs no lock: what it looks at never changes.
func (r *run) read(rec *record) ([]world.Event, [16]byte, error) {
	events, id, _, err := layout.DecodeRow(r.id, r.created, rec.first, world.LogFormat, string(rec.row[:rec.head]), rec.row[rec.head:])
	return events, id, err
}
