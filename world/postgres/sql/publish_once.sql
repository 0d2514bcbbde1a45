-- Publishes one with a delivery ID. No row: its topic has had the ID; the next statement reads of what. It may wait for another transaction that publishes with the same.
WITH clock AS MATERIALIZED (SELECT clock_timestamp() AS now),
p AS (
  INSERT INTO {schema}.publications (topic, source, dedupe, at, due_at, head, body, sum)
  SELECT $1, $2, $3, c.now, c.now + $4::bigint * interval '1 microsecond', $5, $6, $7 FROM clock c
  ON CONFLICT (topic, dedupe) WHERE dedupe IS NOT NULL DO NOTHING
  RETURNING key, at, due_at),
d AS (INSERT INTO {schema}.due (publication, due_at) SELECT p.key, CASE WHEN p.due_at > p.at THEN p.due_at ELSE '-infinity' END FROM p)
SELECT key, at FROM p
