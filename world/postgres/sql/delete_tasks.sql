-- Tasks that nobody needs any more. ANY of one run leaves no other way, also for a plan of when there were no tasks. Index tasks_run.
DELETE FROM {schema}.tasks t USING unnest($1::bigint[], $2::text[]) a(run, step) WHERE t.run = ANY(ARRAY[a.run]) AND t.step = a.step
