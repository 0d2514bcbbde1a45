-- The runs with an idempotency key, one of each workflow, or of one workflow; and (1) those that were given the input of the start with it. Indexes runs_idem,
-- delivered_idem; by way of the workflows that there are.
WITH names AS MATERIALIZED (SELECT DISTINCT workflow FROM classes WHERE ?2 IS NULL OR workflow = ?2)
SELECT r.key, 0 FROM names CROSS JOIN runs r WHERE r.ns = 0 AND r.workflow = names.workflow AND r.idem = ?1 AND r.idem IS NOT NULL
UNION ALL
SELECT d.run, 1 FROM names CROSS JOIN delivered d WHERE d.workflow = names.workflow AND d.idem = ?1 AND d.idem IS NOT NULL
