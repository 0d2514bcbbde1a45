-- Runs that are to have begun by now, but for what somebody else is at, $1 at most; nobody else is told of them for a while ($2). What has begun, or is over,
-- goes, and has no ID here; one that is made of another begins when it is claimed. The last row, with no key, says when the next one is, behind those, a day at most. Keys of lapses, queue and runs.
WITH clock AS MATERIALIZED (SELECT clock_timestamp() AS now),
d AS MATERIALIZED (
  SELECT l.due_at, l.run FROM {schema}.lapses l WHERE l.due_at <= (SELECT now FROM clock) ORDER BY l.due_at, l.run LIMIT $1::bigint FOR UPDATE SKIP LOCKED),
waits AS MATERIALIZED (SELECT d.due_at, d.run FROM d JOIN {schema}.queue q ON q.run = d.run AND (NOT q.running OR q.take = 0)),
gone AS (DELETE FROM {schema}.lapses l USING d WHERE l.due_at = d.due_at AND l.run = d.run AND NOT EXISTS (SELECT FROM waits w WHERE w.run = d.run)),
again AS (
  UPDATE {schema}.lapses l SET due_at = (SELECT now FROM clock) + $2::bigint * interval '1 microsecond' FROM waits w WHERE l.due_at = w.due_at AND l.run = w.run
  RETURNING l.run, l.ttl)
SELECT d.run, r.id, a.ttl, NULL::bigint FROM d LEFT JOIN again a ON a.run = d.run LEFT JOIN {schema}.runs r ON r.key = a.run
UNION ALL
SELECT NULL, NULL, NULL, (extract(epoch FROM (SELECT least(l.due_at, now + interval '1 day') FROM {schema}.lapses l WHERE l.due_at > now ORDER BY l.due_at LIMIT 1) - now) * 1000000)::bigint FROM clock
