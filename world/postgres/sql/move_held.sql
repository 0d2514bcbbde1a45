-- Sets aside runs of a workflow ($3) that have not begun ($4), or brings them back, among some keys. Such a run's class has a minus sign, and no worker
-- asks for it. It stands in no line of a limit, and gives back the places that it has: it asks for them where it is claimed.
-- A fork or a retry is running from its birth on, and has not begun while nobody has claimed it. By key.
WITH mine AS MATERIALIZED (
  SELECT q.run, q.places, q.has FROM {schema}.queue q WHERE q.run > $1::bigint AND q.run <= $2::bigint
    AND abs(q.class) = ANY (ARRAY(SELECT c.key FROM {schema}.classes c WHERE c.workflow = $3::text))
    AND CASE WHEN $4::boolean THEN q.class > 0 AND (NOT q.running OR q.take = 0) AND q.owner IS NULL ELSE q.class < 0 END
  ORDER BY q.run FOR UPDATE),
freed AS (INSERT INTO {schema}.limit_news (key, kind) SELECT m.places[i], 0 FROM mine m CROSS JOIN generate_series(1, m.has) i WHERE m.places[i] IS NOT NULL)
UPDATE {schema}.queue q SET class = -q.class, has = CASE WHEN q.has > 0 THEN 0 ELSE q.has END, parked_at = NULL,
  ready_at = CASE WHEN q.parked_at IS NULL THEN q.ready_at ELSE q.wake_at END
FROM mine WHERE q.run = mine.run
