-- Locks the queue rows of runs whose owners write to streams, in the order of their runs, but for those that others have locked. Indexes runs_id,
-- workers_id_key, queue_pkey.
SELECT a.ord, q.run FROM unnest($1::text[], $2::text[], $3::bigint[]) WITH ORDINALITY a(run, worker, take, ord)
JOIN {schema}.runs r ON r.ns = 0 AND r.id = a.run JOIN {schema}.workers w ON w.id = a.worker
JOIN {schema}.queue q ON q.run = r.key AND q.owner = w.key AND q.take = a.take
ORDER BY q.run FOR UPDATE OF q SKIP LOCKED
