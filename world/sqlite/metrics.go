package sqlite

// What processes have counted.

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/stepwell/stepwell/world"
)

var (
	readMetrics     = load("metrics")
	metricsRevision = load("metrics_revision")
	putMetrics      = load("put_metrics")
	absorbMetrics   = load("absorb_metrics")
	forgetMetrics   = load("forget_metrics")
)

// KeepMetrics stores the counts of a process; see [world.MetricsKeeper].
func (w *World) KeepMetrics(ctx context.Context, m *world.ProcessMetrics) error {
	if err := world.CheckMetrics(m); err != nil {
		return err
	}
	return w.write(ctx, func(g *group) error {
		revision := func(process string) (n int64, stands bool, err error) {
			_, err = g.tx.conn().one(metricsRevision, func(r row) error { n, stands = r.int(0), r.int(1) == 1; return nil }, process)
			return n, stands, err
		}
		switch is, stands, err := revision(m.Process); {
		case err != nil:
			return err
		case is >= m.Revision:
			return nil
		case !stands && m.Revision > 1:
			return fmt.Errorf("metrics of process %s were absorbed: %w", m.Process, world.ErrConflict)
		}
		for _, r := range m.Absorbs {
			is, stands, err := revision(r.Process)
			if err != nil {
				return err
			}
			if is != r.Revision || !stands {
				return fmt.Errorf("metrics of process %s are not at revision %d: %w", r.Process, r.Revision, world.ErrConflict)
			}
		}
		now := world.Now()
		if len(m.Absorbs) > 0 {
			if err := g.tx.exec(forgetMetrics, now.Add(-world.AbsorbedFor).UnixMicro()); err != nil {
				return err
			}
		}
		for _, r := range m.Absorbs {
			if err := g.tx.exec(absorbMetrics, r.Process, now.UnixMicro()); err != nil {
				return err
			}
		}
		return g.tx.exec(putMetrics, m.Process, m.Revision, now.UnixMicro(), string(m.Says))
	})
}

// Metrics returns the stored counts; see [world.MetricsKeeper].
func (w *World) Metrics(ctx context.Context) (out []world.ProcessMetrics, err error) {
	err = w.read(ctx, func(c *conn) error {
		return c.query(readMetrics, func(r row) (bool, error) {
			m := world.ProcessMetrics{MetricsRef: world.MetricsRef{Process: r.text(0), Revision: r.int(1)}, Age: max(time.Since(r.time(2)), 0)}
			if m.Says = json.RawMessage(r.text(3)); json.Valid(m.Says) { // one that is damaged says nothing
				out = append(out, m)
			}
			return true, nil
		})
	})
	return out, err
}
