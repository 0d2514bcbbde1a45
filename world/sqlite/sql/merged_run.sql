-- The run that has an idempotency key, or was given the input of the start with it. Indexes runs_idem, delivered_idem.
SELECT id FROM runs WHERE ns = 0 AND workflow = ?1 AND idem = ?2 AND idem IS NOT NULL
UNION ALL SELECT r.id FROM delivered d JOIN runs r ON r.key = d.run WHERE d.workflow = ?1 AND d.idem = ?2 AND d.idem IS NOT NULL
LIMIT 1
