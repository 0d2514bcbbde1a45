-- The runs with an idempotency key, one of each workflow, or of one workflow. Index runs_idem; by way of the workflows that there are.
SELECT r.key FROM (SELECT DISTINCT workflow FROM classes WHERE ?3 IS NULL OR workflow = ?3) names CROSS JOIN runs r
WHERE r.ns = 0 AND r.workflow = names.workflow AND r.idem = ?1 AND r.idem IS NOT NULL LIMIT ?2
