-- Runs whose retention ended before ?1; at most 10,000 are counted. Index runs_sweep.
SELECT count(*) FROM (SELECT 1 FROM runs WHERE sweep_us IS NOT NULL AND sweep_us < ?1 LIMIT 10000)
