-- Answers to webhooks' requests of segments before the one at $2 go, at most $3, and their streams with them. Index chunks_pkey.
DELETE FROM {schema}.chunks WHERE ctid = ANY (ARRAY(
  SELECT g.ctid FROM (SELECT DISTINCT stream FROM {schema}.chunks WHERE run = $1::bigint AND stream LIKE 'webhook/%') s
  JOIN {schema}.chunks g ON g.run = $1::bigint AND g.stream = s.stream
  WHERE g.segment < $2::bigint LIMIT $3::bigint))
