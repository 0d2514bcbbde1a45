-- One run that is to be claimed by name, and whether the worker that owns it is dead. Indexes runs_id, queue_pkey, workers_pkey.
SELECT clock_timestamp(), q.run, q.class, w.key, w.ended IS NOT NULL OR w.until < clock_timestamp()
FROM {schema}.runs r JOIN {schema}.queue q ON q.run = r.key LEFT JOIN {schema}.workers w ON w.key = q.owner
WHERE r.ns = 0 AND r.id = $1
