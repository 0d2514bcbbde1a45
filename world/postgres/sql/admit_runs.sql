-- Runs, tasks and messages ($1 to $4: where they stand) get the place for which they stood in line, in the order of their keys, unless they
-- have left or somebody holds their row: then they stand there still, and are looked at again. Who has all is ready;
-- who needs another one is news of that. What keys ($5) hold is counted from what was changed, and from what was given
-- back ($6). Keys of rates ($7: the turn of the next) keep $8 and $9. By key: + 0, and
-- ANY of one key, leave no other way, also for a plan of when there were no rows.
WITH chosen AS (SELECT * FROM unnest($1::text[], $2::smallint[], $3::timestamptz[], $4::bigint[]) c(key, urgency, place, run)),
runs AS MATERIALIZED (
  SELECT q.run, c.key, c.urgency, c.place, CASE WHEN q.has + 1 < cardinality(q.places) THEN clock_timestamp() END AS parked
  FROM chosen c JOIN {schema}.queue q ON q.run = ANY(ARRAY[c.run])
  WHERE q.owner IS NULL AND q.parked_at = c.place AND q.places[q.has + 1] = c.key ORDER BY q.run + 0 FOR UPDATE OF q SKIP LOCKED),
ready AS (
  UPDATE {schema}.queue q SET has = q.has + 1, parked_at = m.parked, wake_at = CASE WHEN m.parked IS NULL THEN clock_timestamp() ELSE q.wake_at END,
    ready_at = CASE WHEN m.parked IS NULL THEN clock_timestamp() END
  FROM runs m WHERE q.run = ANY(ARRAY[m.run]) RETURNING q.run, m.key, m.urgency, m.place, m.parked, q.places[q.has + 1] AS next),
tasks AS MATERIALIZED (
  SELECT t.key AS task, c.key, c.urgency, c.place, c.run, CASE WHEN t.has + 1 < cardinality(t.places) THEN clock_timestamp() END AS parked
  FROM chosen c JOIN {schema}.tasks t ON t.key = ANY(ARRAY[CASE WHEN c.run < 0 THEN c.run + 4611686018427387904 END])
  WHERE c.run < 0 AND t.worker + 0 IS NULL AND t.parked_at = c.place AND t.places[t.has + 1] = c.key ORDER BY t.key + 0 FOR UPDATE OF t SKIP LOCKED),
shown AS (
  UPDATE {schema}.tasks t SET has = t.has + 1, parked_at = m.parked, visible_at = CASE WHEN m.parked IS NULL THEN clock_timestamp() ELSE t.visible_at END
  FROM tasks m WHERE t.key = ANY(ARRAY[m.task]) RETURNING m.run, m.key, m.urgency, m.place, m.parked, t.places[t.has + 1] AS next, t.run AS of),
messages AS MATERIALIZED (
  SELECT m.key AS message, c.key, c.urgency, c.place, c.run, CASE WHEN m.has + 1 < cardinality(m.places) THEN clock_timestamp() END AS parked
  FROM chosen c JOIN {schema}.messages m ON m.key = ANY(ARRAY[CASE WHEN c.run < -4611686018427387904 THEN c.run + 6917529027641081856 END])
  WHERE c.run < -4611686018427387904 AND m.parked_at = c.place AND m.places[m.has + 1] = c.key ORDER BY m.key + 0 FOR UPDATE OF m SKIP LOCKED),
seen AS (
  UPDATE {schema}.messages x SET has = x.has + 1, parked_at = m.parked, visible_at = CASE WHEN m.parked IS NULL THEN clock_timestamp() ELSE x.visible_at END
  FROM messages m WHERE x.key = ANY(ARRAY[m.message]) RETURNING m.run, m.key, m.urgency, m.place, m.parked, x.places[x.has + 1] AS next, x.queue),
moved AS (
  SELECT r.run, r.key, r.urgency, r.place, r.parked, r.next, r.run AS of, NULL::integer AS queue FROM ready r
  UNION ALL SELECT s.run, s.key, s.urgency, s.place, s.parked, s.next, s.of, NULL FROM shown s
  UNION ALL SELECT n.run, n.key, n.urgency, n.place, n.parked, n.next, NULL, n.queue FROM seen n),
gone AS (DELETE FROM {schema}.limit_line l USING moved m WHERE l.key = ANY(ARRAY[m.key]) AND l.urgency = m.urgency AND l.place = m.place AND l.run = m.run),
still AS (
  INSERT INTO {schema}.limit_line (key, urgency, place, run)
  SELECT c.key, c.urgency, c.place, c.run FROM chosen c WHERE c.run NOT IN (SELECT m.run FROM moved m) ON CONFLICT DO NOTHING),
news AS (
  INSERT INTO {schema}.limit_news (key, kind, urgency, place, run)
  SELECT m.next, 2, m.urgency, m.parked, m.run FROM moved m WHERE m.parked IS NOT NULL
  UNION ALL
  SELECT DISTINCT c.key, 1, NULL::smallint, NULL::timestamptz, NULL::bigint FROM chosen c WHERE c.run NOT IN (SELECT m.run FROM moved m)),
counted AS (
  INSERT INTO {schema}.limit_keys AS k (key, used, turn_ns, late, due)
  SELECT a.key, n.n - a.freed, a.turn, a.late, a.due
  FROM unnest($5::text[], $6::integer[], $7::bigint[], $8::boolean[], $9::timestamptz[]) a(key, freed, turn, late, due)
  CROSS JOIN LATERAL (SELECT count(*) AS n FROM moved m WHERE m.key = a.key) n
  ON CONFLICT (key) DO UPDATE SET used = greatest(least(k.used::bigint + excluded.used, 2147483647), 0)::integer,
    turn_ns = coalesce(excluded.turn_ns, k.turn_ns), late = excluded.late, due = excluded.due)
SELECT r.id, false FROM moved m JOIN {schema}.runs r ON r.key = m.of WHERE m.parked IS NULL
UNION ALL
SELECT q.name, true FROM {schema}.queues q WHERE q.key = ANY(ARRAY(SELECT m.queue FROM moved m WHERE m.parked IS NULL AND m.queue IS NOT NULL))
