-- A worker claims runs of its classes ($4), those that are ready ($1) and those that mail makes runnable ($2), unless
-- that has changed or somebody holds the row. taken is negative until claimed_runs, which sees what was committed
-- before these locks. One that lacks places is given where its code is not to run. By key; indexes inbox_run,
-- inbox_acts. A fork that is held, see move_held, and is claimed to be cancelled, has begun with that.
WITH mine AS (
  SELECT q.run FROM {schema}.queue q CROSS JOIN LATERAL (SELECT coalesce(q.has >= cardinality(q.places), true) AS yes) whole
  WHERE q.run = ANY($1::bigint[] || $2::bigint[]) AND q.owner IS NULL AND (q.class = ANY($4::integer[]) AND q.run = ANY($1::bigint[]) AND q.ready_at <= clock_timestamp() AND whole.yes
    OR q.class = ANY($4::integer[]) AND q.running AND NOT q.paused AND q.blocked IS NULL AND whole.yes AND EXISTS (SELECT 1 FROM {schema}.inbox i WHERE i.run = q.run OFFSET 0)
    OR EXISTS (SELECT 1 FROM {schema}.inbox i WHERE i.run = q.run AND (i.cancel OR i.act IS NOT NULL) AND (i.cancel OR q.paused AND i.act = 'run_resumed' AND q.class = ANY($4::integer[]))
      AND (whole.yes OR i.cancel AND (NOT q.running OR q.blocked IS NOT NULL OR NOT q.class = ANY($4::integer[]))) OFFSET 0)
    AND (abs(q.class) = ANY($4::integer[]) OR NOT q.running OR q.blocked IS NOT NULL OR NOT EXISTS (
      SELECT FROM {schema}.classes c CROSS JOIN {schema}.workers w WHERE c.key = abs(q.class) AND w.ended IS NULL
        AND {schema}.readable(w.classes)::jsonb @> jsonb_build_array(jsonb_build_object('workflow', c.workflow, 'version', c.version)) OFFSET 0)))
  ORDER BY q.run FOR UPDATE OF q SKIP LOCKED)
UPDATE {schema}.queue q SET class = CASE WHEN q.running THEN abs(q.class) ELSE q.class END, owner = $3, take = least(q.take, 9223372036854775806) + 1, taken = -1 - greatest(q.taken, 0), ready_at = NULL, parked_at = NULL FROM mine WHERE q.run = mine.run
