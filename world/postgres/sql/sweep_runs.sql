-- Deletes runs whose retention ended, those that ended first before others; what another process is sweeping is left to it. Index runs_sweep.
DELETE FROM {schema}.runs WHERE key = ANY (ARRAY(
  SELECT key FROM {schema}.runs WHERE sweep_at <= clock_timestamp() AND status IS NOT NULL ORDER BY sweep_at LIMIT $1 FOR UPDATE SKIP LOCKED))
RETURNING key, workflow, status, attributes, created_at, id
