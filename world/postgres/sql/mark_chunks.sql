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
