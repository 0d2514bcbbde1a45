-- Tells other processes of mail that was delivered just before ($5, to $4), unless it was not: as work ($2), or to the owner ($3). It may be lost with the
-- server, and so waits for no disk. Indexes runs_id, inbox_run.
SELECT set_config('synchronous_commit', 'off', true), pg_notify($1, CASE WHEN q.owner IS NULL THEN $2::text ELSE $3::text END)
FROM {schema}.runs r JOIN {schema}.queue q ON q.run = r.key
WHERE r.ns = 0 AND r.id = $4 AND EXISTS (SELECT 1 FROM {schema}.inbox i WHERE i.run = r.key AND i.delivery = $5 OFFSET 0)
