package rules

// When others are told that a run is created which may lapse.

import (
	"sync/atomic"
	"time"
)

// lapseHaste is how far ahead who looks after what lapses has looked at least.
const lapseHaste = time.Second

// LapseNews tells once of what lapses at about the same time: who looks then sees what else is there. The zero value
// has told nothing. It may be used by several at once.
type LapseNews struct {
	told atomic.Int64 // when what was told of last lapses, µs
}

// Tells reports whether others are to be told that a run was created which lapses at a time.
func (n *LapseNews) Tells(at, now time.Time) bool {
	if told := n.told.Load(); told <= at.UnixMicro() && told > now.Add(lapseHaste).UnixMicro() {
		return false
	}
	n.told.Store(at.UnixMicro())
	return true
}
