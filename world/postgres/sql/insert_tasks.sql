-- Tasks are created, some of them held as attempt 1. Index tasks_run.
INSERT INTO {schema}.tasks (run, step, name, workflow, input, options, priority, visible_at, worker, attempt, first_at, history, sum)
SELECT a.run, a.step, a.name, a.workflow, a.input, a.options, a.priority, coalesce(a.visible, clock_timestamp()), a.worker,
  CASE WHEN a.worker IS NULL THEN 0 ELSE 1 END, a.first, a.history, a.sum
FROM unnest($1::bigint[], $2::text[], $3::text[], $4::text[], $5::bytea[], $6::bytea[], $7::smallint[], $8::timestamptz[], $9::bigint[],
  $10::timestamptz[], $11::text[], $12::integer[]) a(run, step, name, workflow, input, options, priority, visible, worker, first, history, sum)
