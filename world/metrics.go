package world

// This file holds what processes have counted, as a store keeps it for whoever tells the metrics of all of them.

import (
	"context"
	"encoding/json"
	"fmt"
	"time"
)

// MetricsKeeper keeps the counts of processes, so that one of them can report for all.
type MetricsKeeper interface {
	// KeepMetrics stores the counts of a process, and replaces its earlier ones. Processes in
	// Absorbs, whose counts this one has added to its own, are removed in the same transaction;
	// their revisions are known for [AbsorbedFor]. A known or older revision changes nothing, so a
	// call may be repeated. The error is [ErrConflict], and nothing is written, if the process
	// itself was absorbed, or if one that it absorbs has changed or is gone.
	KeepMetrics(ctx context.Context, m *ProcessMetrics) error

	// Metrics returns the stored counts, by process ID.
	Metrics(ctx context.Context) ([]ProcessMetrics, error)
}

// ProcessMetrics are the counts of a process since its start.
type ProcessMetrics struct {
	MetricsRef
	Says json.RawMessage `json:"says"` // a JSON value, opaque to stores
	// Age: time since it was stored, by the store's clock; set on reading.
	Age time.Duration `json:"age,omitempty"`
	// Absorbs: processes whose counts are included; set on writing.
	Absorbs []MetricsRef `json:"absorbs,omitempty"`
}

// MetricsRef identifies stored counts of a process.
type MetricsRef struct {
	Process  string `json:"process"`
	Revision int64  `json:"revision"` // from 1; it grows
}

// AbsorbedFor is how long the revision of an absorbed process is known, in case the process repeats
// its last call.
const AbsorbedFor = time.Hour

// Limits of a process's counts.
const (
	MaxMetrics  = 1 << 20 // bytes of ProcessMetrics.Says
	mostAbsorbs = 1000
)

// CheckMetrics returns [ErrInvalid] for invalid counts.
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
