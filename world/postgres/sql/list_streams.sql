-- The streams of a run, each with its last batch. Indexes runs_id, chunks_pkey.
SELECT c.stream, least(c.idx, 4611686018427387904) + c.n, c.kind, c.at
FROM {schema}.runs r
CROSS JOIN LATERAL (SELECT x.stream, max(x.idx) AS idx FROM {schema}.chunks x WHERE x.run = r.key GROUP BY x.stream) l
CROSS JOIN LATERAL (SELECT y.* FROM {schema}.chunks y WHERE y.run = r.key AND y.stream = l.stream AND y.idx = l.idx LIMIT 1) c
WHERE r.ns = 0 AND r.id = $1::text ORDER BY c.stream
