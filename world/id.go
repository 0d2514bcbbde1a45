package world

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"strconv"
	"strings"
	"time"

	"github.com/oklog/ulid/v2"
)

// Prefixes of IDs. "_" and a ULID follow; see https://github.com/ulid/spec.
const (
	PrefixRun    = "wrun"
	PrefixStep   = "step"
	PrefixWait   = "wait"
	PrefixHook   = "hook"
	PrefixAttr   = "attr"
	PrefixEvent  = "evnt"
	PrefixStream = "strm"
	PrefixWorker = "wrkr"
)

// Now returns the time of this machine's clock as stores keep it: UTC, in microseconds.
func Now() time.Time { return time.Now().UTC().Truncate(time.Microsecond) }

// NewID returns a new random ID with a prefix and the time part at. It is safe for concurrent use.
func NewID(prefix string, at time.Time) string {
	var id ulid.ULID
	_ = id.SetTime(millis(at))
	rand.Read(id[6:]) // never fails, says crypto/rand
	return prefix + "_" + id.String()
}

// Key is what the ID of a step, wait, hook or attribute derives from. The n-th use of a kind and a
// name in one coroutine is occurrence n, from 0, so IDs do not depend on the order of results.
type Key struct {
	Segment int // 0 in the first segment of the log; see [RunContinued]
	// Path: the coroutine: "" is the workflow function, "fetch[17]/go[0]" a nested coroutine.
	Path       string
	Kind       Kind
	Name       string
	Occurrence int
}

// String returns the key for people: the name, with its occurrence after the first.
func (k Key) String() string {
	s := k.Name
	if k.Occurrence > 0 {
		s += "[" + strconv.Itoa(k.Occurrence) + "]"
	}
	if k.Path != "" {
		s += " in " + k.Path
	}
	return s
}

// CorrelationID derives the ID of an entity of a run. Its time part is the run's birth, its entropy
// a hash of the run's ID and the key. The same run and key always give the same ID.
func CorrelationID(run string, birth time.Time, k Key) string {
	buf := make([]byte, 0, 128)
	buf = append(append(buf, run...), 0)
	buf = binary.AppendUvarint(buf, uint64(k.Segment))
	buf = append(append(buf, k.Path...), 0)
	buf = append(append(buf, k.Kind...), 0)
	buf = append(append(buf, k.Name...), 0)
	buf = binary.AppendUvarint(buf, uint64(k.Occurrence))
	sum := sha256.Sum256(buf)
	var id ulid.ULID
	_ = id.SetTime(millis(birth))
	copy(id[6:], sum[:])
	return withPrefix(k.Kind.prefix(), id)
}

// EventID derives the ID of an event. Its time part is the event's time, its entropy a part of the
// run's hash, then the number. IDs of one run's events sort in log order.
func EventID(run string, seq int64, at time.Time) string {
	sum := sha256.Sum256([]byte(run))
	var id ulid.ULID
	_ = id.SetTime(millis(at))
	copy(id[6:10], sum[:])
	var n [8]byte
	binary.BigEndian.PutUint64(n[:], uint64(seq))
	copy(id[10:], n[2:])
	return withPrefix(PrefixEvent, id)
}

// Reserved names of the coroutines that run undo functions. Only a step of the first one makes a
// retry impossible.
const (
	UndoPath    = "undo"     // at the end of a run that does not complete
	UndoNowPath = "undo-now" // in UndoAll and Undoing.Run
)

// RunPath returns the path of the n-th coroutine of a name inside parent. Slashes and backslashes
// in the name are escaped, so that paths are unique in a run.
func RunPath(parent, name string, n int) string {
	if strings.ContainsAny(name, `/\`) {
		name = slashes.Replace(name)
	}
	p := name + "[" + strconv.Itoa(n) + "]"
	if parent != "" {
		p = parent + "/" + p
	}
	return p
}

var slashes = strings.NewReplacer(`/`, `\/`, `\`, `\\`)

func withPrefix(prefix string, id ulid.ULID) string {
	var buf [40]byte
	b := append(append(buf[:0], prefix...), '_')
	n := len(b)
	b = b[:n+ulid.EncodedSize]
	_ = id.MarshalTextTo(b[n:])
	return string(b)
}

func millis(t time.Time) uint64 {
	if ms := t.UnixMilli(); ms > 0 {
		return uint64(ms)
	}
	return 0
}
