-- Whether a worker holds a task as an attempt. Indexes runs_id, tasks_run.
SELECT 1 FROM {schema}.runs r JOIN {schema}.tasks t ON t.run = r.key
WHERE r.ns = 0 AND r.id = $1::text AND t.step = $2::text AND t.worker = $3::bigint AND t.attempt = $4::integer
