-- Queue rows of runs that are created and need places. Those that are due stand in the line of the first one, and are
-- news of it; the others come when they fall due. Of a workflow that is
-- held they are not to begin: see move_held.
WITH b AS MATERIALIZED (
  SELECT b.*, b.places::text[] AS needs, greatest(b.wake, c.now) AS due, h.workflow IS NOT NULL AS held,
    NOT b.paused AND (b.wake IS NULL OR b.wake <= c.now) AND h.workflow IS NULL AS comes
  FROM unnest($1::bigint[], $2::integer[], $3::boolean[], $4::smallint[], $5::timestamptz[], $6::boolean[], $7::text[], $8::smallint[], $9::timestamptz[],
    $10::text[], $11::smallint[]) b(run, class, running, priority, wake, paused, places, keeps, created, workflow, rates)
  CROSS JOIN (SELECT clock_timestamp() AS now) c LEFT JOIN {schema}.holds h ON h.workflow = b.workflow AND h.state < 2),
q AS (
  INSERT INTO {schema}.queue (run, class, running, priority, take, wake_at, ready_at, paused, "full", places, keeps, has, parked_at, rates)
  SELECT b.run, CASE WHEN b.held THEN -b.class ELSE b.class END, b.running, b.priority, 0, b.due, CASE WHEN NOT b.comes AND NOT b.paused THEN b.due END, b.paused, false, b.needs, b.keeps, 0,
    CASE WHEN b.comes THEN b.created END, nullif(b.rates, 0) FROM b)
INSERT INTO {schema}.limit_news (key, kind, urgency, place, run) SELECT b.needs[1], 2, 3 - b.priority, b.created, b.run FROM b WHERE b.comes
