-- Locks tasks whose holders write to streams, in the order of their runs, but for those that others have locked. Indexes runs_id, workers_id_key,
-- tasks_run.
SELECT a.ord, t.run FROM unnest($1::text[], $2::text[], $3::bigint[], $4::text[]) WITH ORDINALITY a(run, worker, attempt, step, ord)
JOIN {schema}.runs r ON r.ns = 0 AND r.id = a.run JOIN {schema}.workers w ON w.id = a.worker
JOIN {schema}.tasks t ON t.run = r.key AND t.step = a.step AND t.worker = w.key AND t.attempt = a.attempt
ORDER BY t.run, t.step FOR UPDATE OF t SKIP LOCKED
