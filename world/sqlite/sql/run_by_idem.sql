-- The run that has an idempotency key. Index runs_idem.
SELECT id FROM runs WHERE ns = 0 AND workflow = ?1 AND idem = ?2 AND idem IS NOT NULL
