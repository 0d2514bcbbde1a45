-- The runs with an idempotency key, one of each workflow, or of one workflow ($3). Index runs_idem; by way of the workflows that there are.
SELECT r.key FROM (SELECT DISTINCT workflow FROM {schema}.classes WHERE $3::text IS NULL OR workflow = $3) c
CROSS JOIN LATERAL (SELECT key FROM {schema}.runs WHERE ns = 0 AND workflow = c.workflow AND idem = $1::text LIMIT 1) r LIMIT $2
