-- The run that has an idempotency key. Index runs_idem.
SELECT id FROM {schema}.runs WHERE ns = 0 AND workflow = $1::text AND idem = $2::text
