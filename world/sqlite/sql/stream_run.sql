-- The key of a run, and whether it is over. Index runs_id.
SELECT key, status IS NOT NULL FROM runs WHERE ns = 0 AND id = ?1
