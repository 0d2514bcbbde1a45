-- One run, with the row of its birth and its place in the queue. Indexes runs_id, log_run, queue_pkey, inbox_run.
SELECT {run}
FROM {schema}.runs r
{beside}
WHERE r.ns = 0 AND r.id = $1
