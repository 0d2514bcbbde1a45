-- What a worker could claim, or when: for each class and priority the first run, for each step, priority and workflow the first task, and
-- whether a cancel waits, whose runs cancel_runs chooses from; and the first key of a rate that is to be looked at. One seek each in queue_ready, tasks_ready,
-- queue_cancel, limit_keys_due. ?1, ?2: JSON of [workflow, version] and of step names.
WITH RECURSIVE lanes (name, priority, workflow) AS (
  SELECT j.value, p.value,
    (SELECT workflow FROM tasks WHERE name = j.value AND priority = p.value AND worker IS NULL ORDER BY workflow LIMIT 1)
  FROM json_each(?2) j CROSS JOIN json_each('[0,1,2,3]') p
  UNION ALL
  SELECT l.name, l.priority,
    (SELECT workflow FROM tasks WHERE name = l.name AND priority = l.priority AND worker IS NULL AND workflow > l.workflow ORDER BY workflow LIMIT 1)
  FROM lanes l WHERE l.workflow IS NOT NULL
)
SELECT 0, c.key, p.value, (SELECT ready_us FROM queue WHERE class = c.key AND priority = p.value AND ready_us IS NOT NULL ORDER BY ready_us LIMIT 1), NULL
FROM json_each(?1) j CROSS JOIN classes c ON c.workflow = j.value ->> 0 AND c.version = j.value ->> 1 CROSS JOIN json_each('[0,1,2,3]') p
UNION ALL
SELECT 1, l.name, l.priority, (SELECT visible_us FROM tasks WHERE name = l.name AND priority = l.priority AND workflow = l.workflow
    AND worker IS NULL ORDER BY visible_us LIMIT 1), l.workflow
FROM lanes l WHERE l.workflow IS NOT NULL
UNION ALL
SELECT 2, 0, 0, (SELECT mail_us FROM queue q WHERE cancel AND owner IS NULL
  AND (NOT running OR blocked IS NOT NULL -- as in cancel_runs
    OR parked_us IS NULL AND EXISTS (SELECT 1 FROM classes c, json_each(?1) j WHERE c.key = q.class AND c.workflow = j.value ->> 0 AND c.version = j.value ->> 1)
    OR NOT EXISTS (SELECT 1 FROM classes c, workers k, json_each(CASE WHEN json_valid(k.classes) THEN k.classes END) j
      WHERE c.key = q.class AND c.workflow = j.value ->> 'workflow' AND c.version = j.value ->> 'version'))
  LIMIT 1), NULL
UNION ALL
SELECT 3, 0, 0, (SELECT due_us FROM limit_keys WHERE due_us IS NOT NULL ORDER BY due_us LIMIT 1), NULL
