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
