-- The key and birth of a run, and what it does not want any more. Index runs_id.
SELECT key, created_us, trim FROM runs WHERE ns = 0 AND id = ?1
