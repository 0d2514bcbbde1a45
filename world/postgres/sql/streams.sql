-- Streams: batches of chunks.

-- name: insert_chunks
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

-- name: read_chunks
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

-- name: list_streams
-- The streams of a run, each with its last batch. Indexes runs_id, chunks_pkey.
SELECT c.stream, least(c.idx, 4611686018427387904) + c.n, c.kind, c.at
FROM {schema}.runs r
CROSS JOIN LATERAL (SELECT x.stream, max(x.idx) AS idx FROM {schema}.chunks x WHERE x.run = r.key GROUP BY x.stream) l
CROSS JOIN LATERAL (SELECT y.* FROM {schema}.chunks y WHERE y.run = r.key AND y.stream = l.stream AND y.idx = l.idx LIMIT 1) c
WHERE r.ns = 0 AND r.id = $1::text ORDER BY c.stream

-- name: last_chunks
-- The last batch of a stream. Index chunks_pkey.
SELECT idx, n, kind, step, attempt, pos FROM {schema}.chunks WHERE run = $1::bigint AND stream = $2::text ORDER BY idx DESC LIMIT 1

-- name: find_chunks
-- A batch that may have been written already. Index chunks_pkey.
SELECT idx FROM {schema}.chunks WHERE run = $1::bigint AND stream = $2::text AND step = $3::text AND attempt = $4::integer AND pos = $5::bigint

-- name: void_chunks
-- What earlier attempts of a step wrote at a number and behind is void. Index chunks_pkey.
DELETE FROM {schema}.chunks
WHERE run = $1::bigint AND stream = $2::text AND idx >= $3::bigint AND step = $4::text AND attempt < $5::integer AND kind <> 'reset'

-- name: cut_chunks
-- The same, of the batch in which that number is. Index chunks_pkey.
UPDATE {schema}.chunks SET n = $3::bigint - idx
WHERE run = $1::bigint AND stream = $2::text AND idx < $3::bigint AND idx > $3::bigint - n AND step = $4::text AND attempt < $5::integer AND kind = 'data'

-- name: mark_chunks
-- What streams have of segments before the one at $2 is not wanted any more: of its last batch the last number alone stays, so that the stream's numbers go on
-- behind it, and readers learn what is gone. A mark that closed the stream stays as it is. Index chunks_pkey.
UPDATE {schema}.chunks SET idx = least(idx, 4611686018427387904) + n - 1, n = 1, kind = 'trim', step = '', attempt = 0, pos = -1, data = ''
WHERE kind <> 'trim' AND ctid = ANY (ARRAY(
  SELECT (SELECT l.ctid FROM {schema}.chunks l
          WHERE l.run = $1::bigint AND l.stream = s.stream AND l.kind NOT IN ('close', 'error') AND l.idx < coalesce((
            SELECT k.idx FROM {schema}.chunks k WHERE k.run = $1::bigint AND k.stream = s.stream AND k.segment >= $2::bigint ORDER BY k.idx LIMIT 1),
            9223372036854775807)
          ORDER BY l.idx DESC LIMIT 1)
  FROM (SELECT DISTINCT stream FROM {schema}.chunks WHERE run = $1::bigint) s))

-- name: trim_chunks
-- What is before those marks goes, at most $3 batches. Index chunks_pkey.
DELETE FROM {schema}.chunks WHERE ctid = ANY (ARRAY(
  SELECT g.ctid
  FROM (SELECT DISTINCT stream FROM {schema}.chunks WHERE run = $1::bigint) s
  CROSS JOIN LATERAL (
    SELECT l.idx FROM {schema}.chunks l
    WHERE l.run = $1::bigint AND l.stream = s.stream AND l.kind NOT IN ('close', 'error') AND l.idx < coalesce((
      SELECT k.idx FROM {schema}.chunks k WHERE k.run = $1::bigint AND k.stream = s.stream AND k.segment >= $2::bigint ORDER BY k.idx LIMIT 1),
      9223372036854775807)
    ORDER BY l.idx DESC LIMIT 1) e
  CROSS JOIN LATERAL (
    SELECT b.ctid FROM {schema}.chunks b WHERE b.run = $1::bigint AND b.stream = s.stream AND b.idx < e.idx) g
  LIMIT $3::bigint))
