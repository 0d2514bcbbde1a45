-- Runs that are due, or that mail makes runnable as in claim_runs, and lack a place stand in the line of that: in its
-- first one a run stands where it was created, in a later one as who came last. One that is not to begin, see
-- move_held, stands in none, nor one that was paused since it was seen. By key; indexes runs_pkey, inbox_run, inbox_acts.
WITH mine AS MATERIALIZED (
  SELECT q.run, q.priority, q.places[q.has + 1] AS key, CASE WHEN q.has = 0 OR q.has = q.keeps AND q.running THEN r.created_at ELSE clock_timestamp() END AS place
  FROM {schema}.queue q JOIN {schema}.runs r ON r.key = q.run
  WHERE q.run = ANY($1::bigint[]) AND q.owner IS NULL AND q.class > 0 AND q.parked_at IS NULL AND q.has < cardinality(q.places) AND q.places[q.has + 1] IS NOT NULL
    AND (q.ready_at <= clock_timestamp()
      OR q.running AND NOT q.paused AND q.blocked IS NULL AND EXISTS (SELECT 1 FROM {schema}.inbox i WHERE i.run = q.run OFFSET 0)
      OR EXISTS (SELECT 1 FROM {schema}.inbox i WHERE i.run = q.run AND (i.cancel OR i.act IS NOT NULL)
        AND (i.cancel AND q.running AND q.blocked IS NULL OR q.paused AND i.act = 'run_resumed') OFFSET 0))
  ORDER BY q.run FOR UPDATE OF q SKIP LOCKED),
parked AS (UPDATE {schema}.queue q SET parked_at = m.place, ready_at = NULL FROM mine m WHERE q.run = m.run)
INSERT INTO {schema}.limit_news (key, kind, urgency, place, run) SELECT m.key, 2, 3 - m.priority, m.place, m.run FROM mine m
