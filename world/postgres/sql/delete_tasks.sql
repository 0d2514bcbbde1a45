-- Tasks that nobody needs any more. Index tasks_run.
DELETE FROM {schema}.tasks t USING unnest($1::bigint[], $2::text[]) a(run, step) WHERE t.run = a.run AND t.step = a.step
