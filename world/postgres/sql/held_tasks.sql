-- Which of some tasks a worker holds, by their place in the list. Indexes runs_id, tasks_run.
SELECT a.i FROM unnest($2::text[], $3::text[], $4::integer[]) WITH ORDINALITY a(run, step, attempt, i)
JOIN {schema}.runs r ON r.ns = 0 AND r.id = a.run
JOIN {schema}.tasks t ON t.run = r.key AND t.step = a.step
WHERE t.worker = $1 AND t.attempt = a.attempt
