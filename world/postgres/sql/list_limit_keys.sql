-- Keys of a limit ($1: from which on, $2: before which), at most $3; how many places are held, and how many runs and tasks stand
-- in line: $4 of its line are counted, and since when the first of them has. What is news is counted as if it had been looked at. Indexes limit_keys_pkey,
-- limit_weights_pkey, limit_news_pkey, limit_line_pkey, queue_pkey, tasks_pkey.
WITH RECURSIVE news (key, n) AS (
  SELECT (SELECT n.key FROM {schema}.limit_news n WHERE n.key >= $1 AND n.key < $2 ORDER BY n.key LIMIT 1), 1
  UNION ALL
  SELECT (SELECT n.key FROM {schema}.limit_news n WHERE n.key > m.key AND n.key < $2 ORDER BY n.key LIMIT 1), m.n + 1 FROM news m WHERE m.key IS NOT NULL AND m.n < $3::integer),
keys AS MATERIALIZED (
  SELECT key FROM ((SELECT k.key FROM {schema}.limit_keys k WHERE k.key >= $1 AND k.key < $2 ORDER BY k.key LIMIT $3::integer)
    UNION SELECT key FROM news WHERE key IS NOT NULL) u ORDER BY key LIMIT $3::integer)
SELECT a.key, greatest(coalesce((SELECT k.used FROM {schema}.limit_keys k WHERE k.key = a.key), 0)
    - (SELECT count(*) FROM (SELECT 1 FROM {schema}.limit_news n WHERE n.key = a.key AND n.kind = 0 LIMIT $4::integer) f), 0),
  w.n, w.oldest,
  coalesce((SELECT k.turn_ns FROM {schema}.limit_keys k WHERE k.key = a.key), 0),
  coalesce((SELECT w.weight FROM {schema}.limit_weights w WHERE w.key = a.key), 0)
FROM keys a CROSS JOIN LATERAL (SELECT count(*) AS n, min(w.place) AS oldest FROM (
    SELECT l.place, l.run FROM (SELECT l.place, l.run FROM {schema}.limit_line l WHERE l.key = a.key LIMIT $4::integer) l
    UNION SELECT n.place, n.run FROM (SELECT n.place, n.run FROM {schema}.limit_news n WHERE n.key = a.key AND n.kind = 2 LIMIT $4::integer) n) w
    CROSS JOIN LATERAL (SELECT 1 FROM {schema}.limit_need(w.run) q WHERE q.parked_at = w.place AND q.places[q.has + 1] = a.key OFFSET 0) q) w
ORDER BY a.key
