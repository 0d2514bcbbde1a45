-- A worker claims tasks, each as it was seen, and so begins an attempt of each, which its history tells, unless somebody holds the row. By key: + 0, and
-- ANY of one key, leave no other way, also for a plan of when there were no tasks.
WITH mine AS (
  SELECT t.key, t.run, a.history, a.started FROM unnest($1::bigint[], $2::integer[], $3::integer[], $4::integer[], $5::text[], $6::timestamptz[])
    a(key, attempt, failures, abandoned, history, started)
  JOIN {schema}.tasks t ON t.key = ANY(ARRAY[a.key]) AND t.attempt = a.attempt AND t.failures = a.failures AND t.abandoned = a.abandoned
  WHERE t.worker + 0 IS NULL AND t.visible_at <= clock_timestamp()
  ORDER BY t.key + 0 FOR UPDATE OF t SKIP LOCKED)
UPDATE {schema}.tasks t SET worker = $7, attempt = least(t.attempt, 2147483646) + 1, first_at = coalesce(t.first_at, m.started), history = m.history
FROM mine m JOIN {schema}.runs r ON r.key = m.run
WHERE t.key = ANY(ARRAY[m.key])
RETURNING t.key, r.id, t.step, t.name, t.workflow, t.input, t.options, t.priority, t.visible_at, t.attempt, t.first_at, t.failures, t.abandoned, t.sum
