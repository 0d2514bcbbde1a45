-- The active hooks of a run, oldest first. Indexes runs_id, hooks_run.
SELECT h.id, r.id, h.token, h.metadata, h.created_at
FROM {schema}.runs r JOIN {schema}.hooks h ON h.run = r.key WHERE r.ns = 0 AND r.id = $1
ORDER BY h.key LIMIT $2
