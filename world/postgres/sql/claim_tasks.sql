-- A worker claims tasks, each as it was seen, and so begins an attempt of each, which its history tells, unless somebody holds the row. By key.
WITH mine AS (
  SELECT t.key, a.history, a.started FROM unnest($1::bigint[], $2::integer[], $3::integer[], $4::integer[], $5::text[], $6::timestamptz[])
    a(key, attempt, failures, abandoned, history, started)
  JOIN {schema}.tasks t ON t.key = a.key AND t.attempt = a.attempt AND t.failures = a.failures AND t.abandoned = a.abandoned
  WHERE t.worker IS NULL AND t.visible_at <= clock_timestamp()
  ORDER BY t.key FOR UPDATE OF t SKIP LOCKED)
UPDATE {schema}.tasks t SET worker = $7, attempt = least(t.attempt, 2147483646) + 1, first_at = coalesce(t.first_at, m.started), history = m.history
FROM mine m JOIN {schema}.tasks x ON x.key = m.key JOIN {schema}.runs r ON r.key = x.run
WHERE t.key = m.key
RETURNING t.key, r.id, t.step, t.name, t.workflow, t.input, t.options, t.priority, t.visible_at, t.attempt, t.first_at, t.failures, t.abandoned, t.sum
