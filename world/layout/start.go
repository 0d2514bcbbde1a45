package layout

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/stepwell/stepwell/world"
)

// started is how the head of a row has that a run begins.
const started = `"y":"` + string(world.RunStarted) + `"`

// StartOf returns when a run began, from the head of a row of its log; zero: unknown or unreadable.
func StartOf(head string, birth time.Time) time.Time {
	if !strings.Contains(head, started) {
		return time.Time{}
	}
	var row struct {
		S int64 // since the birth, µs
		T int64 // or since 1970
		E []struct {
			Y world.EventType
			T int64 // after the first event
		}
	}
	if json.Unmarshal([]byte(head), &row) != nil {
		return time.Time{}
	}
	at := birth.UnixMicro() + row.S
	if row.T != 0 {
		at = row.T
	}
	for i := range row.E {
		if row.E[i].Y == world.RunStarted {
			return time.UnixMicro(at + row.E[i].T).UTC()
		}
	}
	return time.Time{}
}
