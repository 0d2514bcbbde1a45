-- All workers that were not found dead, with what they hold. One that holds nothing need not renew its lease for a time ($1, in µs). Indexes queue_owner, tasks_held.
SELECT w.id, w.name, w.build, w.classes, w.steps, w.lease_ns, w.joined_at,
       least(w.until, '9999-12-31T00:00:00Z') + CASE WHEN w.runs + w.tasks = 0 THEN $1::bigint ELSE 0 END * interval '1 microsecond', w.runs, w.tasks, w.remote
FROM (SELECT w.*, (SELECT count(*) FROM {schema}.queue WHERE owner = w.key) AS runs, (SELECT count(*) FROM {schema}.tasks WHERE worker = w.key) AS tasks
  FROM {schema}.workers w WHERE w.ended IS NULL OFFSET 0) w ORDER BY w.id
