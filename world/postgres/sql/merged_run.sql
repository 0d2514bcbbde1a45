-- The run that has an idempotency key ($2), or was given the input of the start with it. Indexes runs_idem, delivered_idem.
SELECT id FROM {schema}.runs WHERE ns = 0 AND workflow = $1::text AND idem = $2::text
UNION ALL SELECT r.id FROM {schema}.delivered d JOIN {schema}.runs r ON r.key = d.run WHERE d.workflow = $1::text AND d.idem = $2::text AND d.idem IS NOT NULL
