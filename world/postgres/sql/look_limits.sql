-- What who admits decides by: the state (kind 0); the next keys that have news, at most $1, with how many places they
-- have, by their weights, and how many are held (1); their news, at most $2 for each if there are as many keys, else more (2); and who is
-- first in their lines, as many as there are places free, at most $3 (3); of a rate, no fewer than it lets in, of which $4
-- is what it makes up for, and one more. Of runs and tasks: what they need and have, and whether
-- they stand there still. Keys limit_news_pkey, limits_pkey, limit_keys_pkey, limit_weights_pkey, limit_line_pkey, queue_pkey, tasks_pkey.
WITH RECURSIVE state AS MATERIALIZED (SELECT revision, behind FROM {schema}.limiting LIMIT 1),
page (key, n) AS (
  SELECT (SELECT n.key FROM {schema}.limit_news n WHERE n.key > s.behind ORDER BY n.key LIMIT 1), 1 FROM state s
  UNION ALL
  SELECT (SELECT n.key FROM {schema}.limit_news n WHERE n.key > p.key ORDER BY n.key LIMIT 1), p.n + 1 FROM page p WHERE p.key IS NOT NULL AND p.n < $1::integer),
keys AS MATERIALIZED (
  SELECT p.key, coalesce(l.number, l.said, 1)::bigint * greatest(least(coalesce(w.weight, 1), 100), 1) AS number, greatest(coalesce(k.used, 0), 0) AS used, l.per_ns, coalesce(l.burst, 1) AS burst,
    coalesce(k.turn_ns, 0) AS turn, coalesce(k.late, false) AS late
  FROM page p LEFT JOIN {schema}.limits l ON l.name = split_part(p.key, '/', 1) LEFT JOIN {schema}.limit_keys k ON k.key = p.key
  LEFT JOIN {schema}.limit_weights w ON w.key = p.key WHERE p.key IS NOT NULL),
news AS MATERIALIZED (
  SELECT n.* FROM keys k CROSS JOIN LATERAL (SELECT n.key, n.kind, n.id, n.urgency, n.place, n.run FROM {schema}.limit_news n
    WHERE n.key = k.key ORDER BY n.kind, n.id LIMIT greatest($2::integer, $1::integer * $2::integer / (SELECT count(*) FROM keys))) n),
clock AS MATERIALIZED (SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint * 1000 AS now),
rooms AS MATERIALIZED (
  SELECT k.key, CASE WHEN k.per_ns IS NULL THEN k.number - k.used + (SELECT count(*) FROM news n WHERE n.key = k.key AND n.kind = 0)
    WHEN k.number > 0 THEN least(k.burst + $4::bigint / greatest(k.per_ns / k.number, 1), greatest(c.now - k.turn, 0) / greatest(k.per_ns / k.number, 1) + 1) + 1 ELSE 1 END AS room
  FROM keys k CROSS JOIN clock c)
SELECT 0::smallint, s.behind, s.revision, 0::smallint, NULL::smallint, NULL::timestamptz, NULL::bigint, NULL::integer, NULL::smallint, NULL::smallint, NULL::boolean, NULL::bigint, NULL::integer, NULL::bigint, NULL::boolean, NULL::integer, NULL::bigint FROM state s
UNION ALL
SELECT 1, k.key, k.number - k.used, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, k.per_ns, k.burst, k.turn, k.late, k.used, c.now FROM keys k CROSS JOIN clock c
UNION ALL
SELECT 2, n.key, n.id, n.kind, n.urgency, n.place, n.run, cardinality(q.places), q.keeps, q.has, q.running, NULL, NULL, NULL, NULL, NULL, NULL
FROM news n LEFT JOIN LATERAL (SELECT q.* FROM {schema}.limit_need(n.run) q WHERE q.owner IS NULL AND q.parked_at = n.place AND q.places[q.has + 1] = n.key OFFSET 0) q ON true
UNION ALL
SELECT 3, r.key, 0, 0, l.urgency, l.place, l.run, cardinality(q.places), q.keeps, q.has, q.running, NULL, NULL, NULL, NULL, NULL, NULL
FROM rooms r CROSS JOIN LATERAL (SELECT l.urgency, l.place, l.run FROM {schema}.limit_line l
  WHERE l.key = r.key ORDER BY l.urgency, l.place, l.run LIMIT greatest(least(r.room, $3::integer), 0)) l
LEFT JOIN LATERAL (SELECT q.* FROM {schema}.limit_need(l.run) q WHERE q.owner IS NULL AND q.parked_at = l.place AND q.places[q.has + 1] = r.key OFFSET 0) q ON true
