-- All active hooks, oldest first. By key.
SELECT h.id, r.id, h.token, h.metadata, h.created_at
FROM {schema}.hooks h CROSS JOIN LATERAL (SELECT id FROM {schema}.runs WHERE key = h.run LIMIT 1) r
ORDER BY h.key LIMIT $1
