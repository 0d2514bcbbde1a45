-- A stream from the batch that holds a number on, up to some rows or bytes: whether its run is over, the number of its last batch, and the batches. One
-- row without a batch where there is none. Indexes runs_id, queue_pkey, chunks_pkey.
SELECT q.run IS NULL, (SELECT max(m.idx) FROM {schema}.chunks m WHERE m.run = r.key AND m.stream = $2::text),
  c.idx, c.n, c.kind, c.step, c.attempt, c.at, c.data, c.pos, c.sum
FROM {schema}.runs r LEFT JOIN {schema}.queue q ON q.run = r.key
LEFT JOIN LATERAL (
  SELECT b.*, sum(length(b.data)) OVER (ORDER BY b.idx) - length(b.data) AS before FROM (
    SELECT x.* FROM {schema}.chunks x
    WHERE x.run = r.key AND x.stream = $2::text AND x.idx >= coalesce((
      SELECT y.idx FROM {schema}.chunks y WHERE y.run = r.key AND y.stream = $2::text AND y.idx <= $3::bigint ORDER BY y.idx DESC LIMIT 1), 0)
    ORDER BY x.idx LIMIT $4::integer) b) c ON c.before < $5::bigint
WHERE r.ns = 0 AND r.id = $1::text ORDER BY c.idx
