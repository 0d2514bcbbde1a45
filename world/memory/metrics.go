// What processes have counted.

package memory

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/stepwell/stepwell/world"
)

// kept is what a process has counted, and when it was given. Once it is absorbed it says nothing.
type kept struct {
	world.ProcessMetrics
	at time.Time
}

func (k kept) absorbed() bool { return k.Says == nil }

// KeepMetrics stores the counts of a process; see [world.MetricsKeeper].
func (w *World) KeepMetrics(ctx context.Context, m *world.ProcessMetrics) error {
	if err := world.CheckMetrics(m); err != nil {
		return err
	}
	if err := w.enter(ctx); err != nil {
		return err
	}
	defer w.mu.Unlock()
	is := w.metrics[m.Process]
	if is.Revision >= m.Revision {
		return nil
	}
	if is.absorbed() && m.Revision > 1 {
		return fmt.Errorf("metrics of process %s were absorbed: %w", m.Process, world.ErrConflict)
	}
	for _, r := range m.Absorbs {
		if is := w.metrics[r.Process]; is.Revision != r.Revision || is.absorbed() {
			return fmt.Errorf("metrics of process %s are not at revision %d: %w", r.Process, r.Revision, world.ErrConflict)
		}
	}
	maps.DeleteFunc(w.metrics, func(_ string, k kept) bool { return k.absorbed() && w.now().Sub(k.at) > world.AbsorbedFor })
	for _, r := range m.Absorbs {
		w.metrics[r.Process] = kept{world.ProcessMetrics{MetricsRef: r}, w.now()}
	}
	if w.metrics == nil {
		w.metrics = make(map[string]kept)
	}
	w.metrics[m.Process] = kept{world.ProcessMetrics{MetricsRef: m.MetricsRef, Says: slices.Clone(m.Says)}, w.now()}
	return nil
}

// Metrics returns the stored counts; see [world.MetricsKeeper].
func (w *World) Metrics(ctx context.Context) (out []world.ProcessMetrics, err error) {
	if err := w.enter(ctx); err != nil {
		return nil, err
	}
	defer w.mu.Unlock()
	for _, k := range w.metrics {
		if k.absorbed() {
			continue
		}
		m := k.ProcessMetrics
		m.Age = max(w.now().Sub(k.at), 0)
		out = append(out, m)
	}
	slices.SortFunc(out, func(a, b world.ProcessMetrics) int { return strings.Compare(a.Process, b.Process) })
	return out, nil
}
