-- Publishes, in order. Each tells its key and when it was.
WITH clock AS MATERIALIZED (SELECT clock_timestamp() AS now),
p AS (
  INSERT INTO {schema}.publications (topic, source, at, due_at, head, body, sum)
  SELECT u.topic, u.source, c.now, c.now + u.delay * interval '1 microsecond', u.head, u.body, u.sum
  FROM unnest($1::text[], $2::text[], $3::bigint[], $4::text[], $5::bytea[], $6::integer[]) WITH ORDINALITY u(topic, source, delay, head, body, sum, i), clock c
  ORDER BY u.i
  RETURNING key, at, due_at),
d AS (INSERT INTO {schema}.due (publication, due_at) SELECT p.key, CASE WHEN p.due_at > p.at THEN p.due_at ELSE '-infinity' END FROM p)
SELECT key, at FROM p ORDER BY key
