-- Messages of a queue ($1) that nobody receives from give back the places of limits that they have, and leave their lines: up to $3 of those in line
-- behind one ($2), and as many of those that are ready. They are ready all the same. A receive whose visibility has ended is over, and a trigger has
-- that give back its places. Tells how many did, and the last one of those in line. Indexes messages_parked, messages_ready and messages_heads;
-- the rows are locked, and those that others have locked are left.
WITH clock AS MATERIALIZED (SELECT clock_timestamp() AS now),
parked AS MATERIALIZED (
  SELECT m.key, m.places, m.has, m.held FROM {schema}.messages m
  WHERE m.queue = $1 AND (m.dead, m.key) > (false, $2::bigint) AND NOT m.dead AND m.visible_at = 'infinity' AND m.parked_at IS NOT NULL
  ORDER BY m.queue, m.dead, m.key LIMIT $3::bigint FOR UPDATE SKIP LOCKED),
ready AS MATERIALIZED (
  SELECT x.key, x.places, x.has, x.held FROM unnest('{0,1,2,3}'::smallint[]) p(priority) CROSS JOIN LATERAL (
    SELECT m.key, m.places, m.has, m.held FROM {schema}.messages m WHERE m.queue = $1 AND m.priority = p.priority AND m.grp IS NULL AND m.visible_at < 'infinity'
      AND m.visible_at <= (SELECT now FROM clock) AND m.has > 0 ORDER BY m.visible_at DESC LIMIT $3::bigint FOR UPDATE SKIP LOCKED) x),
heads AS MATERIALIZED (
  SELECT m.key, m.places, m.has, m.held FROM {schema}.messages m WHERE m.queue = $1 AND m.grp IS NOT NULL AND m.visible_at < 'infinity'
    AND m.visible_at <= (SELECT now FROM clock) AND m.has > 0 ORDER BY m.visible_at DESC LIMIT $3::bigint FOR UPDATE SKIP LOCKED),
mine AS MATERIALIZED (SELECT * FROM parked UNION ALL SELECT * FROM ready UNION ALL SELECT * FROM heads),
freed AS (
  INSERT INTO {schema}.limit_news (key, kind)
  SELECT m.places[i], 0 FROM mine m CROSS JOIN generate_series(1, m.has) i WHERE NOT m.held AND m.places[i] IS NOT NULL),
back AS (
  UPDATE {schema}.messages x SET has = 0, parked_at = NULL, held = false, visible_at = least(x.visible_at, (SELECT now FROM clock))
  FROM mine m WHERE x.key = ANY(ARRAY[m.key]) RETURNING 1)
SELECT (SELECT count(*) FROM back), (SELECT max(key) FROM parked)
