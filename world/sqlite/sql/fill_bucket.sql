-- A run has taken an input. Index buckets_run.
UPDATE buckets SET items = ?2, bytes = ?3 WHERE run = ?1
