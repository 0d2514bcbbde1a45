-- Tasks that ended with a commit. Fails by a division by zero unless each is held by the worker as the attempt that is named. Index tasks_run.
WITH gone AS (
  DELETE FROM {schema}.tasks t USING unnest($1::bigint[], $2::text[], $3::bigint[], $4::integer[]) a(run, step, worker, attempt)
  WHERE t.run = a.run AND t.step = a.step AND t.worker = a.worker AND t.attempt = a.attempt
  RETURNING 1)
SELECT 1 / (count(*) = cardinality($1::bigint[]))::integer FROM gone
