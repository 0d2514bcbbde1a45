-- Runs ($1 to $4: where they stand) get the place for which they stood in line, in the order of their keys, unless they
-- have left or somebody holds their row: then they stand there still, and are looked at again. Who has all is ready;
-- who needs another one is news of that. What keys ($5) hold is counted from what was changed, and from what was given
-- back ($6). By key.
WITH chosen AS (SELECT * FROM unnest($1::text[], $2::smallint[], $3::timestamptz[], $4::bigint[]) c(key, urgency, place, run)),
mine AS MATERIALIZED (
  SELECT q.run, c.key, c.urgency, c.place, CASE WHEN q.has + 1 < cardinality(q.places) THEN clock_timestamp() END AS parked
  FROM chosen c JOIN {schema}.queue q ON q.run = c.run
  WHERE q.owner IS NULL AND q.parked_at = c.place AND q.places[q.has + 1] = c.key ORDER BY q.run FOR UPDATE OF q SKIP LOCKED),
moved AS (
  UPDATE {schema}.queue q SET has = q.has + 1, parked_at = m.parked, wake_at = CASE WHEN m.parked IS NULL THEN clock_timestamp() ELSE q.wake_at END,
    ready_at = CASE WHEN m.parked IS NULL THEN clock_timestamp() END
  FROM mine m WHERE q.run = m.run RETURNING q.run, m.key, m.urgency, m.place, m.parked, q.places[q.has + 1] AS next),
gone AS (DELETE FROM {schema}.limit_line l USING moved m WHERE l.key = m.key AND l.urgency = m.urgency AND l.place = m.place AND l.run = m.run),
still AS (
  INSERT INTO {schema}.limit_line (key, urgency, place, run)
  SELECT c.key, c.urgency, c.place, c.run FROM chosen c WHERE NOT EXISTS (SELECT FROM moved m WHERE m.run = c.run) ON CONFLICT DO NOTHING),
news AS (
  INSERT INTO {schema}.limit_news (key, kind, urgency, place, run)
  SELECT m.next, 2, m.urgency, m.parked, m.run FROM moved m WHERE m.parked IS NOT NULL
  UNION ALL
  SELECT DISTINCT c.key, 1, NULL::smallint, NULL::timestamptz, NULL::bigint FROM chosen c WHERE NOT EXISTS (SELECT FROM moved m WHERE m.run = c.run)),
counted AS (
  INSERT INTO {schema}.limit_keys AS k (key, used)
  SELECT a.key, (SELECT count(*) FROM moved m WHERE m.key = a.key) - a.freed FROM unnest($5::text[], $6::integer[]) a(key, freed)
  ON CONFLICT (key) DO UPDATE SET used = greatest(least(k.used::bigint + excluded.used, 2147483647), 0)::integer)
SELECT r.id FROM moved m JOIN {schema}.runs r ON r.key = m.run WHERE m.parked IS NULL
