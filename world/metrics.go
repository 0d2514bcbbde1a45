package world

// This file holds what processes have counted, as a store keeps it for whoever tells the metrics of all of them.

import (
	"context"
	"encoding/json"
	"fmt"
	"time"
)

// MetricsKeeper is a [World] that keeps what its processes have counted, so that one of them can tell it of all.
type MetricsKeeper interface {
	// KeepMetrics keeps what a process has counted, in the place of what it gave before. Those whose counts it has added
	// to its own (Absorbs) are told no longer, from the same transaction on; their revisions are known for [AbsorbedFor].
	// What is known under the same revision or a later one is left as it is, so that a call may be repeated. The error is
	// [ErrConflict], and nothing is written, where somebody has absorbed the process itself, or one that it absorbs has
	// changed or is gone.
	KeepMetrics(ctx context.Context, m *ProcessMetrics) error

	// Metrics tells what is kept, in the order of the processes' IDs.
	Metrics(ctx context.Context) ([]ProcessMetrics, error)
}

// ProcessMetrics is what a process has counted since it began.
type ProcessMetrics struct {
	MetricsRef
	Says    json.RawMessage `json:"says"`              // a JSON value; worlds do not look into it
	Age     time.Duration   `json:"age,omitempty"`     // since it was kept, in ns, by the world's clock; only told
	Absorbs []MetricsRef    `json:"absorbs,omitempty"` // whose counts it has added to its own; only given
}

// MetricsRef names what a process gave.
type MetricsRef struct {
	Process  string `json:"process"`
	Revision int64  `json:"revision"` // from 1; it grows
}

// AbsorbedFor is how long the revision of a process that was absorbed is known: it may not have heard what became of its
// last call, and repeats that.
const AbsorbedFor = time.Hour

// Limits of what a process may give.
const (
	MaxMetrics  = 1 << 20 // bytes of ProcessMetrics.Says
	mostAbsorbs = 1000
)

// CheckMetrics refuses, with [ErrInvalid], what no world keeps.
func CheckMetrics(m *ProcessMetrics) error {
	for i, r := range append([]MetricsRef{m.MetricsRef}, m.Absorbs...) {
		if err := CheckKey("process", r.Process); err != nil {
			return err
		}
		if r.Revision < 1 {
			return fmt.Errorf("%w: metrics of process %s: revision %d: want 1 or more", ErrInvalid, r.Process, r.Revision)
		}
		if i > 0 && r.Process == m.Process {
			return fmt.Errorf("%w: metrics of process %s: it absorbs itself", ErrInvalid, r.Process)
		}
	}
	switch {
	case len(m.Absorbs) > mostAbsorbs:
		return fmt.Errorf("%w: metrics of process %s: it absorbs %d others: at most %d", ErrInvalid, m.Process, len(m.Absorbs), mostAbsorbs)
	case len(m.Says) > MaxMetrics:
		return fmt.Errorf("%w: metrics of process %s have %d bytes: at most %d", ErrInvalid, m.Process, len(m.Says), MaxMetrics)
	case !json.Valid(m.Says):
		return fmt.Errorf("%w: metrics of process %s are not JSON", ErrInvalid, m.Process)
	}
	return nil
}
