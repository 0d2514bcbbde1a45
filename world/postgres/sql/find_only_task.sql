-- One task that is to be claimed by name, if it is one of $3, and whether the worker that holds it is dead. Indexes runs_id, tasks_run, workers_pkey.
SELECT clock_timestamp(), t.key, t.workflow, t.step, t.attempt, t.failures, t.abandoned, t.history, w.key, w.ended IS NOT NULL OR w.until < clock_timestamp()
FROM {schema}.runs r JOIN {schema}.tasks t ON t.run = r.key AND t.step = $2 LEFT JOIN {schema}.workers w ON w.key = t.worker
WHERE r.ns = 0 AND r.id = $1 AND t.name = ANY($3::text[])
