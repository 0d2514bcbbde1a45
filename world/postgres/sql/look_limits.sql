-- What who admits decides by: the state (kind 0); the next keys that have news, at most $1, with how many places they
-- have and how many are held (1); their news, at most $2 for each if there are as many keys, else more (2); and who is
-- first in their lines, as many as there are places free, at most $3 (3). Of runs: what they need and have, and whether
-- they stand there still. Keys limit_news_pkey, limits_pkey, limit_keys_pkey, limit_line_pkey, queue_pkey.
WITH RECURSIVE state AS MATERIALIZED (SELECT revision, behind FROM {schema}.limiting LIMIT 1),
page (key, n) AS (
  SELECT (SELECT n.key FROM {schema}.limit_news n WHERE n.key > s.behind ORDER BY n.key LIMIT 1), 1 FROM state s
  UNION ALL
  SELECT (SELECT n.key FROM {schema}.limit_news n WHERE n.key > p.key ORDER BY n.key LIMIT 1), p.n + 1 FROM page p WHERE p.key IS NOT NULL AND p.n < $1::integer),
keys AS MATERIALIZED (
  SELECT p.key, coalesce(l.number, l.said, 1)::bigint AS number, greatest(coalesce(k.used, 0), 0) AS used
  FROM page p LEFT JOIN {schema}.limits l ON l.name = split_part(p.key, '/', 1) LEFT JOIN {schema}.limit_keys k ON k.key = p.key WHERE p.key IS NOT NULL),
news AS MATERIALIZED (
  SELECT n.* FROM keys k CROSS JOIN LATERAL (SELECT n.key, n.kind, n.id, n.urgency, n.place, n.run FROM {schema}.limit_news n
    WHERE n.key = k.key ORDER BY n.kind, n.id LIMIT greatest($2::integer, $1::integer * $2::integer / (SELECT count(*) FROM keys))) n),
rooms AS MATERIALIZED (SELECT k.key, k.number - k.used + (SELECT count(*) FROM news n WHERE n.key = k.key AND n.kind = 0) AS room FROM keys k)
SELECT 0::smallint, s.behind, s.revision, 0::smallint, NULL::smallint, NULL::timestamptz, NULL::bigint, NULL::integer, NULL::smallint, NULL::smallint, NULL::boolean FROM state s
UNION ALL
SELECT 1, k.key, k.number - k.used, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL FROM keys k
UNION ALL
SELECT 2, n.key, n.id, n.kind, n.urgency, n.place, n.run, cardinality(q.places), q.keeps, q.has, q.running
FROM news n LEFT JOIN {schema}.queue q ON q.run = n.run AND q.owner IS NULL AND q.parked_at = n.place AND q.places[q.has + 1] = n.key
UNION ALL
SELECT 3, r.key, 0, 0, l.urgency, l.place, l.run, cardinality(q.places), q.keeps, q.has, q.running
FROM rooms r CROSS JOIN LATERAL (SELECT l.urgency, l.place, l.run FROM {schema}.limit_line l
  WHERE l.key = r.key ORDER BY l.urgency, l.place, l.run LIMIT greatest(least(r.room, $3::integer), 0)) l
LEFT JOIN LATERAL (SELECT q.* FROM {schema}.queue q WHERE q.run = l.run AND q.owner IS NULL AND q.parked_at = l.place AND q.places[q.has + 1] = r.key OFFSET 0) q ON true
