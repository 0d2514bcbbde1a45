-- The key and birth of a run. Index runs_id.
SELECT key, created_us FROM runs WHERE ns = 0 AND id = ?1
