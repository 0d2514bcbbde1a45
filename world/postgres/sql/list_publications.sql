-- What was published, the newest first, before one.
SELECT p.key, p.topic, p.source, p.at, p.due_at, p.head, p.body, p.sum, d.publication IS NOT NULL, d.error
FROM (SELECT * FROM {schema}.publications WHERE key < $1 ORDER BY key DESC LIMIT $2::bigint) p
LEFT JOIN LATERAL (SELECT d.publication, d.error FROM {schema}.due d WHERE d.publication = p.key OFFSET 0) d ON true ORDER BY p.key DESC
