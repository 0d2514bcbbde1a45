package postgres

// What processes have counted.

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/stepwell/stepwell/world"
)

var (
	readMetrics     = load("metrics")
	metricsRevision = load("metrics_revision")
	putMetrics      = load("put_metrics")
	absorbMetrics   = load("absorb_metrics")
	forgetMetrics   = load("forget_metrics")
)

// KeepMetrics keeps what a process has counted; see [world.MetricsKeeper].
func (rd *reader) KeepMetrics(ctx context.Context, m *world.ProcessMetrics) error {
	if err := world.CheckMetrics(m); err != nil {
		return err
	}
	var processes []string
	var revisions []int64
	for _, r := range m.Absorbs {
		processes, revisions = append(processes, r.Process), append(revisions, r.Revision)
	}
	return rd.change(ctx, func(ctx context.Context, tx pgx.Tx) error {
		in := rd.in(tx)
		var is int64
		stands := false
		if err := in.each(ctx, metricsRevision, func(row scanner) error { return row.Scan(&is, &stands) }, m.Process); err != nil || is >= m.Revision {
			return err
		}
		if !stands && m.Revision > 1 {
			return fmt.Errorf("metrics of process %s were absorbed: %w", m.Process, world.ErrConflict)
		}
		if len(processes) > 0 {
			n, err := in.exec(ctx, absorbMetrics, processes, revisions)
			if err != nil {
				return err
			}
			if n < int64(len(processes)) {
				return fmt.Errorf("metrics that process %s absorbs were given again, or are gone: %w", m.Process, world.ErrConflict)
			}
			if _, err := in.exec(ctx, forgetMetrics, world.AbsorbedFor.Seconds()); err != nil {
				return err
			}
		}
		_, err := in.exec(ctx, putMetrics, m.Process, m.Revision, string(m.Says))
		return err
	})
}

// Metrics tells what is kept; see [world.MetricsKeeper].
func (rd *reader) Metrics(ctx context.Context) (out []world.ProcessMetrics, err error) {
	err = rd.read(ctx, readMetrics, func(row pgx.Rows) error {
		var m world.ProcessMetrics
		var age float64
		var says string
		if err := row.Scan(&m.Process, &m.Revision, &age, &says); err != nil {
			return err
		}
		m.Age = time.Duration(max(age, 0) * float64(time.Second))
		if m.Says = json.RawMessage(says); json.Valid(m.Says) { // one that is damaged says nothing
			out = append(out, m)
		}
		return nil
	})
	return out, err
}
