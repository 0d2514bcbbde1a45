-- What is to be spread, in order, behind a place, up to $1 and about $2 bytes of payloads, each with its place. Index due_due, which wants to be told of
-- infinity, and a clock that stands still.
WITH clock AS MATERIALIZED (SELECT clock_timestamp() AS now),
d AS MATERIALIZED (
  SELECT d.publication, d.due_at FROM {schema}.due d WHERE d.due_at < 'infinity' AND d.due_at <= (SELECT now FROM clock)
    AND (d.due_at, d.publication + 0) > ($3::text::timestamptz, $4::bigint)
  ORDER BY d.due_at, d.publication + 0 LIMIT $1::bigint)
SELECT x.key, x.topic, x.source, x.at, x.due_at, x.head, x.body, x.sum, true, NULL::text,
  CASE WHEN x.place = '-infinity' THEN 0 ELSE (extract(epoch FROM x.place) * 1000000)::bigint END FROM (
  SELECT p.*, d.due_at AS place, sum(octet_length(p.body)) OVER (ORDER BY d.due_at, d.publication) - octet_length(p.body) AS before
  FROM d JOIN {schema}.publications p ON p.key = d.publication) x
WHERE x.before <= $2::bigint ORDER BY x.place, x.key
