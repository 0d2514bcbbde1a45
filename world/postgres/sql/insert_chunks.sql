-- Batches of chunks, each behind the last of its stream, at number least or behind; none behind a mark that closed the stream, and none that its
-- writer has written before and nobody wrote behind. A number that is taken fails. They belong to the newest segment of their run. Indexes chunks_pkey, runs_pkey.
INSERT INTO {schema}.chunks (run, stream, idx, n, kind, step, attempt, pos, at, data, sum, segment)
SELECT a.run, a.stream, greatest(coalesce(l.next, 0), a.least) + (sum(a.n) OVER (PARTITION BY a.run, a.stream ORDER BY a.ord))::bigint - a.n,
  a.n, a.kind, a.step, a.attempt, a.pos, now(), a.data, a.sum,
  (SELECT r.segment FROM {schema}.runs r WHERE r.key = a.run)
FROM unnest($1::bigint[], $2::text[], $3::integer[], $4::text[], $5::text[], $6::integer[], $7::bigint[], $8::bytea[], $9::bigint[], $10::integer[])
  WITH ORDINALITY a(run, stream, n, kind, step, attempt, pos, data, least, sum, ord)
LEFT JOIN LATERAL (
  SELECT least(c.idx, 4611686018427387904) + c.n AS next, c.kind IN ('close', 'error') OR c.step <> '' AND c.step = a.step AND c.attempt = a.attempt AND c.pos >= a.pos AS over
  FROM {schema}.chunks c
  WHERE c.run = a.run AND c.stream = a.stream ORDER BY c.idx DESC LIMIT 1) l ON true
WHERE l.over IS NOT TRUE
RETURNING run, stream, step, attempt, pos, idx
