-- What was published before one to topics like some, the newest first, up to $3 of the next $2; with each how many were
-- looked at, the last of them, and when that was published. Where none is for them there is one row, of key 0; where
-- none was looked at there is none. Primary key of publications.
WITH w AS MATERIALIZED (SELECT key, topic, at FROM {schema}.publications WHERE key < $1 ORDER BY key DESC LIMIT $2::bigint),
f AS MATERIALIZED (SELECT key FROM w WHERE topic LIKE ANY ($4::text[]) ORDER BY key DESC LIMIT $3::bigint),
e AS MATERIALIZED (SELECT (SELECT count(*) FROM w) AS looked, key AS last, at FROM w ORDER BY key LIMIT 1)
SELECT coalesce(p.key, 0), coalesce(p.topic, ''), p.source, coalesce(p.at, e.at), coalesce(p.due_at, e.at), coalesce(p.head, ''),
  coalesce(p.body, ''), coalesce(p.sum, 0), d.publication IS NOT NULL, d.error, e.looked, e.last, e.at
FROM e LEFT JOIN f ON true
LEFT JOIN LATERAL (SELECT * FROM {schema}.publications x WHERE x.key = f.key OFFSET 0) p ON true
LEFT JOIN LATERAL (SELECT d.publication, d.error FROM {schema}.due d WHERE d.publication = f.key OFFSET 0) d ON true
ORDER BY f.key DESC
