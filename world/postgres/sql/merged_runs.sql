-- A run that has one of several idempotency keys ($2), or was given the input of the start with it. Indexes runs_idem,
-- delivered_idem.
SELECT m.id FROM unnest($2::text[]) k (idem) CROSS JOIN LATERAL (
  SELECT id FROM {schema}.runs WHERE ns = 0 AND workflow = $1::text AND idem = k.idem
  UNION ALL SELECT r.id FROM {schema}.delivered d JOIN {schema}.runs r ON r.key = d.run WHERE d.workflow = $1::text AND d.idem = k.idem AND d.idem IS NOT NULL) m
LIMIT 1
