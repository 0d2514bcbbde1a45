-- What a worker could claim, or when. kind 0: the first runs of each class and priority ($1, $2) from a time on ($3);
-- 1: the first tasks of each step, priority and workflow, those known ($5 to $8) from a time on and, where $10, all of
-- the steps in $11; 2: runs that mail makes runnable (a cancel for all who ask, unless the run's code is needed and a
-- worker has it), since the first that made them so, among those in $12 and, where $10, all; 3: where $14, the workers.
-- Runs in $12 ($13: of these classes) are among 0 and 1 whatever their times. 5: where $15, that there is news of
-- limits, and 6: when the first key of a rate is to be looked at. The last row, kind 4, is the clock. holds: of a run, whether it has all the places that it needs; null: it
-- needs none, or its code is not to run. Indexes queue_ready, tasks_ready, tasks_run, inbox_run, inbox_acts, runs_id,
-- queue_owner, tasks_held, limit_keys_due.
WITH RECURSIVE clock AS MATERIALIZED (SELECT clock_timestamp() AS now),
found (step, priority, workflow) AS (
  SELECT s.step, p.priority, (SELECT t.workflow FROM {schema}.tasks t WHERE t.name = s.step AND t.priority = p.priority AND t.worker IS NULL ORDER BY t.workflow LIMIT 1)
  FROM unnest($11::text[]) s(step), unnest('{0,1,2,3}'::smallint[]) p(priority) WHERE $10::boolean
  UNION ALL
  SELECT f.step, f.priority, (SELECT t.workflow FROM {schema}.tasks t
    WHERE t.name = f.step AND t.priority = f.priority AND t.worker IS NULL AND t.workflow > f.workflow ORDER BY t.workflow LIMIT 1)
  FROM found f WHERE f.workflow IS NOT NULL),
mailed (run) AS (
  (SELECT i.run FROM {schema}.inbox i WHERE $10::boolean AND $4::integer > 0 ORDER BY i.run LIMIT 1)
  UNION ALL
  SELECT (SELECT i.run FROM {schema}.inbox i WHERE i.run > m.run ORDER BY i.run LIMIT 1) FROM mailed m WHERE m.run IS NOT NULL),
named AS MATERIALIZED (SELECT r.key AS run FROM {schema}.runs r WHERE r.ns = 0 AND r.id = ANY($12::text[]))
SELECT 0::smallint AS kind, r.run AS key, l.class, l.priority, r.ready_at AS due, NULL::text AS step, NULL::text AS workflow, NULL::text AS id,
  NULL::integer AS attempt, NULL::integer AS failures, NULL::integer AS abandoned, NULL::text AS history, r.whole AS holds, NULL::text AS ended
FROM unnest($1::integer[], $2::smallint[], $3::timestamptz[]) l(class, priority, low)
CROSS JOIN LATERAL (SELECT q.run, q.ready_at, q.has >= cardinality(q.places) AS whole FROM {schema}.queue q
  WHERE q.class = l.class AND q.priority = l.priority AND q.ready_at >= l.low ORDER BY q.ready_at LIMIT $4::integer + 1) r
UNION ALL
SELECT 0, q.run, q.class, q.priority, q.ready_at, NULL, NULL, NULL, NULL, NULL, NULL, NULL, q.has >= cardinality(q.places), NULL
FROM named n JOIN {schema}.queue q ON q.run = n.run WHERE q.ready_at IS NOT NULL AND q.class = ANY($13::integer[]) AND $4::integer > 0 AND NOT $10::boolean
UNION ALL
SELECT 1, t.key, 0, l.priority, t.visible_at, l.step, l.workflow, t.step, t.attempt, t.failures, t.abandoned, t.history, NULL, NULL
FROM (SELECT * FROM unnest($5::text[], $6::smallint[], $7::text[], $8::timestamptz[]) k(step, priority, workflow, low)
  UNION ALL SELECT f.step, f.priority, f.workflow, '-infinity' FROM found f WHERE f.workflow IS NOT NULL) l(step, priority, workflow, low)
CROSS JOIN LATERAL (SELECT t.key, t.visible_at, t.step, t.attempt, t.failures, t.abandoned, t.history FROM {schema}.tasks t
  WHERE t.name = l.step AND t.priority = l.priority AND t.workflow = l.workflow AND t.worker IS NULL AND t.visible_at >= l.low
  ORDER BY t.visible_at LIMIT $9::integer + 1) t
UNION ALL
SELECT 1, t.key, 0, t.priority, t.visible_at, t.name, t.workflow, t.step, t.attempt, t.failures, t.abandoned, t.history, NULL, NULL
FROM named n JOIN {schema}.tasks t ON t.run = n.run WHERE t.worker IS NULL AND t.name = ANY($11::text[]) AND NOT $10::boolean
UNION ALL
(SELECT 2, q.run, q.class, q.priority, least(a.asked, CASE WHEN NOT q.paused OR a.resumed THEN q.wake_at END,
    CASE WHEN q.running AND q.blocked IS NULL AND (NOT q.paused OR a.resumed)
      THEN (SELECT min(x.arrived_at) FROM (SELECT i.arrived_at FROM {schema}.inbox i WHERE i.run = q.run LIMIT 20) x) END),
  NULL, NULL, NULL, NULL, NULL, NULL, NULL, CASE WHEN a.asked IS NULL OR q.running AND q.blocked IS NULL AND q.class = ANY($13::integer[]) THEN q.has >= cardinality(q.places) END, NULL
FROM (SELECT run FROM mailed UNION ALL SELECT run FROM named) m
JOIN {schema}.queue q ON q.run = m.run AND q.owner IS NULL
CROSS JOIN LATERAL (SELECT min(i.arrived_at) FILTER (WHERE i.cancel) AS asked, coalesce(bool_or(i.act = 'run_resumed'), false) AS resumed
  FROM {schema}.inbox i WHERE i.run = q.run AND (i.cancel OR i.act IS NOT NULL)) a
WHERE $4::integer > 0 AND (a.asked IS NOT NULL AND (abs(q.class) = ANY($13::integer[]) OR NOT q.running OR q.blocked IS NOT NULL OR NOT EXISTS (
    SELECT FROM {schema}.classes c CROSS JOIN {schema}.workers w WHERE c.key = abs(q.class) AND w.ended IS NULL
      AND {schema}.readable(w.classes)::jsonb @> jsonb_build_array(jsonb_build_object('workflow', c.workflow, 'version', c.version)) OFFSET 0))
  OR q.class = ANY($13::integer[]) AND (NOT q.paused OR a.resumed)
    AND (q.running AND q.blocked IS NULL AND EXISTS (SELECT 1 FROM {schema}.inbox i WHERE i.run = q.run OFFSET 0)
      OR q.paused AND q.wake_at <= (SELECT now FROM clock)))
  AND (q.parked_at IS NULL OR a.asked IS NOT NULL AND (NOT q.running OR q.blocked IS NOT NULL OR NOT q.class = ANY($13::integer[])))
LIMIT greatest($4::integer + 1, 1000))
UNION ALL
SELECT 3, w.key, 0, 0, w.until, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
  EXISTS (SELECT 1 FROM {schema}.queue q WHERE q.owner = w.key) OR EXISTS (SELECT 1 FROM {schema}.tasks t WHERE t.worker = w.key), w.ended
FROM {schema}.workers w WHERE $14::boolean
UNION ALL
SELECT 5, 0, 0, 0, now, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL FROM clock WHERE $15::boolean AND EXISTS (SELECT 1 FROM {schema}.limit_news OFFSET 0)
UNION ALL
(SELECT 6, 0, 0, 0, k.due, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL FROM {schema}.limit_keys k WHERE $15::boolean AND k.due IS NOT NULL ORDER BY k.due LIMIT 1)
UNION ALL
SELECT 4, 0, 0, 0, now, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL FROM clock
