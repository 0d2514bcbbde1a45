-- What keys hold is counted anew: by the rows of the queue and of tasks, and what was given back since somebody admitted last. Runs
-- that stand in line, and are in none, come to it again. Nobody admits meanwhile. All of the queue and of tasks, on purpose.
WITH held AS (SELECT k.key, count(*) AS n FROM {schema}.limit_needs q CROSS JOIN LATERAL unnest(q.places[1:q.has]) k(key) WHERE q.places IS NOT NULL AND k.key IS NOT NULL GROUP BY k.key),
freed AS (SELECT n.key, count(*) AS n FROM {schema}.limit_news n WHERE n.kind = 0 GROUP BY n.key),
are AS (SELECT coalesce(h.key, f.key) AS key, coalesce(h.n, 0) + coalesce(f.n, 0) AS used FROM held h FULL JOIN freed f ON f.key = h.key),
wrong AS MATERIALIZED (
  SELECT coalesce(a.key, k.key) AS key, coalesce(a.used, 0) AS used FROM are a FULL JOIN {schema}.limit_keys k ON k.key = a.key
  WHERE coalesce(a.used, 0) <> coalesce(k.used, 0)),
lost AS MATERIALIZED (
  SELECT q.places[q.has + 1] AS key, 3 - q.priority AS urgency, q.parked_at AS place, q.run FROM {schema}.limit_needs q
  WHERE q.parked_at IS NOT NULL AND q.owner IS NULL AND q.places[q.has + 1] IS NOT NULL
    AND NOT EXISTS (SELECT 1 FROM {schema}.limit_line l WHERE l.key = q.places[q.has + 1] AND l.urgency = 3 - q.priority AND l.place = q.parked_at AND l.run = q.run)
    AND NOT EXISTS (SELECT 1 FROM {schema}.limit_news n WHERE n.key = q.places[q.has + 1] AND n.kind = 2 AND n.run = q.run AND n.place = q.parked_at)),
put AS (
  INSERT INTO {schema}.limit_keys (key, used) SELECT w.key, w.used FROM wrong w ON CONFLICT (key) DO UPDATE SET used = excluded.used),
news AS (
  INSERT INTO {schema}.limit_news (key, kind, urgency, place, run)
  SELECT l.key, 2, l.urgency, l.place, l.run FROM lost l UNION ALL SELECT w.key, 1, NULL, NULL, NULL FROM wrong w)
SELECT (SELECT count(*) FROM wrong) + (SELECT count(*) FROM lost)
