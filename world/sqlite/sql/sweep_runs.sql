-- Runs whose retention ended, those that ended first before others. Index runs_sweep.
SELECT key, id, workflow, status, attributes FROM runs WHERE sweep_us IS NOT NULL AND sweep_us <= ?1 AND status IS NOT NULL ORDER BY sweep_us LIMIT ?2
