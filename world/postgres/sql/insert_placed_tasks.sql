-- Tasks are created that need places. Those that are due stand in the line of the first one, and are news of it. Index tasks_run.
WITH a AS MATERIALIZED (
  SELECT a.*, a.places::text[] AS needs, c.now, a.visible IS NULL OR a.visible <= c.now AS comes
  FROM unnest($1::bigint[], $2::text[], $3::text[], $4::text[], $5::bytea[], $6::bytea[], $7::smallint[], $8::timestamptz[], $9::integer[], $10::text[], $11::smallint[])
    a(run, step, name, workflow, input, options, priority, visible, sum, places, rates) CROSS JOIN (SELECT clock_timestamp() AS now) c),
t AS (
  INSERT INTO {schema}.tasks (run, step, name, workflow, input, options, priority, visible_at, sum, places, has, rates, parked_at, asked_at)
  SELECT a.run, a.step, a.name, a.workflow, a.input, a.options, a.priority, CASE WHEN a.comes THEN '9999-12-31T00:00:00Z' ELSE a.visible END, a.sum, a.needs, 0,
    nullif(a.rates, 0), CASE WHEN a.comes THEN a.now END, a.now FROM a
  RETURNING key, priority, places, parked_at)
INSERT INTO {schema}.limit_news (key, kind, urgency, place, run) SELECT t.places[1], 2, 3 - t.priority, t.parked_at, t.key - 4611686018427387904 FROM t WHERE t.parked_at IS NOT NULL
