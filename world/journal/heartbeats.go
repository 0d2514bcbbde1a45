package journal

// Heartbeats of hooks: as long as who holds the token says that they are still at it, a run waits on.

import (
	"bytes"
	"encoding/json"
	"strings"
	"time"

	"github.com/stepwell/stepwell/world"
)

// Heartbeats begins the names of events that are heartbeats of a hook. The hook's ID follows.
const Heartbeats = "heartbeat/"

// HeartbeatsIn is how many heartbeats of a hook are written at most in its timeout, to bound the
// log. It delays the end of the wait: see [Silence].
const HeartbeatsIn = 8

// LeastHeartbeat is the shortest HeartbeatTimeout of a hook.
const LeastHeartbeat = time.Second

// Silence is how long a run waits after a written heartbeat, for a HeartbeatTimeout.
func Silence(timeout time.Duration) time.Duration { return timeout + timeout/HeartbeatsIn }

// attended is the metadata of a hook that has a HeartbeatTimeout, as it is recorded.
type attended struct {
	Heartbeat string          `json:"$heartbeat"` // as time.Duration writes it
	Metadata  json.RawMessage `json:"metadata,omitempty"`
}

// Attend returns a hook's metadata with a HeartbeatTimeout.
func Attend(timeout time.Duration, metadata json.RawMessage) (json.RawMessage, error) {
	return json.Marshal(attended{timeout.String(), metadata})
}

// Attendance returns the HeartbeatTimeout in a hook's metadata (0: none) and the author's own
// metadata.
func Attendance(metadata json.RawMessage) (timeout time.Duration, inner json.RawMessage) {
	if !bytes.HasPrefix(metadata, []byte(`{"$heartbeat":`)) {
		return 0, metadata
	}
	var a attended
	if json.Unmarshal(metadata, &a) == nil {
		timeout, _ = time.ParseDuration(a.Heartbeat)
	}
	if timeout < LeastHeartbeat {
		return 0, metadata
	}
	return timeout, a.Metadata
}

// attendance is what an entry says of the heartbeats of a hook.
type attendance struct {
	Timeout time.Duration // of a hook: its HeartbeatTimeout; 0: it has none
	Name    string        // of a wait for them: the hook's name; "": it is not known
}

// Attends returns the ID of the hook whose heartbeats the entry waits for; "": none.
func (e *Entry) Attends() string {
	if hook, ok := strings.CutPrefix(e.Name, Heartbeats); ok && e.Kind == world.KindEvent {
		return hook
	}
	return ""
}

// heard moves the deadline of who waits at a hook, as a heartbeat of it came at a time: not beyond until, which is when
// heartbeats move it no more; zero: they always do.
func (j *Journal) heard(hook string, at, until time.Time) {
	is := j.open[hook]
	if is == nil || is.hook.Timeout == 0 {
		return
	}
	for _, en := range j.open {
		if en.Kind != world.KindReceive || en.Token != is.Token || en.Until.IsZero() {
			continue
		}
		end := at.Add(Silence(is.hook.Timeout))
		if !until.IsZero() && end.After(until) {
			end = until
		}
		if end.After(en.Until) {
			en.Until = end
		}
	}
}
