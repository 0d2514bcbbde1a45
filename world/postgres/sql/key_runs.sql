-- The runs with an idempotency key, one of each workflow, or of one workflow ($2); and (true) those that were given the input of the start with it. Indexes
-- runs_idem, delivered_idem; by way of the workflows that there are.
WITH names AS MATERIALIZED (SELECT DISTINCT workflow FROM {schema}.classes WHERE $2::text IS NULL OR workflow = $2)
SELECT r.key, false FROM names n
CROSS JOIN LATERAL (SELECT key FROM {schema}.runs WHERE ns = 0 AND workflow = n.workflow AND idem = $1::text LIMIT 1) r
UNION ALL
SELECT d.run, true FROM names n
CROSS JOIN LATERAL (SELECT run FROM {schema}.delivered WHERE workflow = n.workflow AND idem = $1::text AND idem IS NOT NULL LIMIT 1) d
