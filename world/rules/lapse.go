package rules

// When others are told that a run is created which may lapse.

import (
	"sync/atomic"
	"time"
)

// lapseHaste is how far ahead who looks after what lapses has looked at least.
const lapseHaste = time.Second

// LapseNews groups announcements of runs that lapse at about the same time. The zero value is ready
// to use. It is safe for concurrent use.
type LapseNews struct {
	told atomic.Int64 // when what was told of last lapses, µs
}

// Tells reports whether to announce a new run that lapses at a time.
func (n *LapseNews) Tells(at, now time.Time) bool {
	if told := n.told.Load(); told <= at.UnixMicro() && told > now.Add(lapseHaste).UnixMicro() {
		return false
	}
	n.told.Store(at.UnixMicro())
	return true
}
