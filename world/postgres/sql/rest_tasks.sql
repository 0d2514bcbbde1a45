-- Tasks of a step ($1) that nobody holds give back the places of limits that they have, and leave their lines, those in line first, $2 at most. They are ready
-- all the same. Index tasks_ready; the rows are locked, and those that others have locked are left.
WITH mine AS MATERIALIZED (
  SELECT t.key, t.places, t.has FROM {schema}.tasks t
  WHERE t.name = $1::text AND t.worker IS NULL AND t.places IS NOT NULL AND (t.has > 0 OR t.parked_at IS NOT NULL)
  ORDER BY t.priority DESC, t.workflow DESC, t.visible_at DESC LIMIT $2::integer FOR UPDATE SKIP LOCKED),
freed AS (INSERT INTO {schema}.limit_news (key, kind) SELECT m.places[i], 0 FROM mine m CROSS JOIN generate_series(1, m.has) i WHERE m.places[i] IS NOT NULL),
back AS (
  UPDATE {schema}.tasks t SET has = 0, parked_at = NULL, visible_at = CASE WHEN t.parked_at IS NULL THEN t.visible_at ELSE clock_timestamp() END
  FROM mine m WHERE t.key = ANY(ARRAY[m.key]) RETURNING 1)
SELECT count(*) FROM back
