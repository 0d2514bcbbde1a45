-- Runs of a class ($1) that nobody owns give back the places of limits that they do not keep while they wait, and leave their lines, those in line first, $2 at
-- most. They are ready all the same. Index queue_placed; the rows are locked, and those that others have locked are left.
WITH mine AS MATERIALIZED (
  SELECT q.run, q.places, q.has, least(q.has, CASE WHEN q.running THEN q.keeps ELSE 0 END) AS keep FROM {schema}.queue q
  WHERE q.class = $1::integer AND q.owner IS NULL AND q.has + (q.parked_at IS NOT NULL)::integer > 0 AND q.places IS NOT NULL
    AND (q.parked_at IS NOT NULL OR q.has > CASE WHEN q.running THEN q.keeps ELSE 0 END)
  ORDER BY q.ready_at DESC LIMIT $2::integer FOR UPDATE SKIP LOCKED),
freed AS (INSERT INTO {schema}.limit_news (key, kind) SELECT m.places[i], 0 FROM mine m CROSS JOIN generate_series(m.keep + 1, m.has) i WHERE m.places[i] IS NOT NULL),
back AS (
  UPDATE {schema}.queue q SET has = m.keep, parked_at = NULL, ready_at = CASE WHEN q.parked_at IS NULL THEN q.ready_at ELSE q.wake_at END
  FROM mine m WHERE q.run = ANY(ARRAY[m.run]) RETURNING 1)
SELECT count(*) FROM back
