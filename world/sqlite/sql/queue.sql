-- What lives: who owns it, when it is due, and which a worker claims.

-- name: insert_queue
-- The queue row of a run that is created, and perhaps given up at once.
INSERT INTO queue (run, class, running, priority, owner, take, wake_us, paused, blocked, full, waiting, places, keeps, has, parked_us, held, rates)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17)

-- name: update_queue
-- The run started, has another version, or was paused or resumed by its owner. By key.
UPDATE queue SET class = ?2, running = ?3, paused = ?4 WHERE run = ?1

-- name: release_queue
-- The owner gives the run up; mail that waits makes it ready at once. ?10: it is paused, and is to be claimed for a resumption that waits. By key; index inbox_run.
UPDATE queue SET class = ?2, running = ?3, paused = ?4 AND NOT ?10, resumed = ?10, owner = NULL, wake_us = ?5, blocked = ?6, full = ?7, waiting = ?8, released = ?9, strikes = 0,
  taken = max(taken, ?11),
  mail_us = (SELECT min(arrived_us) FROM inbox WHERE run = ?1),
  cancel = coalesce((SELECT max(cancel) FROM inbox WHERE run = ?1), 0)
WHERE run = ?1

-- name: act_queue
-- Somebody paused or resumed a run that nobody owns; ?4: it is paused, and is to be claimed for a resumption that waits. By key.
UPDATE queue SET paused = ?2 AND NOT ?4, resumed = ?4, wake_us = ?3, taken = max(taken, ?5) WHERE run = ?1

-- name: try_blocked
-- An operator wants a blocked run tried again at once, as if for the first time, or one that was to start later to start now. By key.
UPDATE queue SET wake_us = ?2, blocked = CASE WHEN json_valid(blocked) THEN json_set(blocked, '$.tries', 0) ELSE blocked END WHERE run = ?1

-- name: right_queue
-- What the log of a run says of its row: running and paused; ?4: it is to be claimed for a resumption that waits. By key.
UPDATE queue SET running = ?2, paused = ?3 AND NOT ?4, resumed = ?3 AND ?4 WHERE run = ?1

-- name: delete_queue
-- The run is over. By key.
DELETE FROM queue WHERE run = ?1

-- name: claim_run
-- A fork that is held, and is claimed to be cancelled, has begun with that.
-- A worker claims a run; taken stays what it was where the log has lost its end. By key; index log_run.
UPDATE queue SET owner = ?2, take = take + 1, mail_us = NULL, cancel = 0, paused = paused OR resumed, resumed = 0, held = held AND NOT running,
  taken = max(taken, coalesce((SELECT seq + n - 1 FROM log WHERE run = ?1 ORDER BY seq DESC LIMIT 1), 0))
WHERE run = ?1 AND owner IS NULL

-- name: claimed_run
-- A run that was just claimed. By key; index log_run.
SELECT r.id, q.take, q.class, q.running, q.priority, q.paused, q.blocked,
  coalesce((SELECT seq + n - 1 FROM log WHERE run = ?1 ORDER BY seq DESC LIMIT 1), 0), q.strikes, r.segment, q.taken
FROM queue q CROSS JOIN runs r ON r.key = q.run WHERE q.run = ?1

-- name: put_run_aside
-- A row of the queue that is of no run, or of one that cannot be found: nobody is given it again; doctor names it. By key.
UPDATE queue SET owner = NULL, wake_us = NULL, paused = 1, blocked = '{"code":"CORRUPTED_EVENT_LOG","message":"there is no such run"}' WHERE run = ?1

-- name: ready
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

-- name: ready_runs
-- The first runs of a class and priority that are ready. Index queue_ready.
SELECT run, ready_us, class, priority FROM queue
WHERE class = ?1 AND priority = ?2 AND ready_us IS NOT NULL AND ready_us <= ?3 ORDER BY ready_us LIMIT ?4

-- name: cancel_runs
-- The first runs of a priority (?3) that are to be cancelled, of any class, but for those whose code is needed and which another worker has. ?2: JSON of
-- [workflow, version] that the worker has. Each is due since its cancel came, or what came or fell due before. Indexes queue_cancel, inbox_cancel.
SELECT run, min(asked, coalesce(ready_us, asked)), class, priority FROM (
  SELECT run, class, priority, ready_us, coalesce((SELECT min(arrived_us) FROM inbox i WHERE i.run = q.run AND i.cancel), mail_us) AS asked
  FROM queue q WHERE cancel AND owner IS NULL AND priority = ?3
    AND (NOT running OR blocked IS NOT NULL
      OR parked_us IS NULL AND EXISTS (SELECT 1 FROM classes c, json_each(?2) j WHERE c.key = q.class AND c.workflow = j.value ->> 0 AND c.version = j.value ->> 1)
      OR NOT EXISTS (SELECT 1 FROM classes c, workers k, json_each(CASE WHEN json_valid(k.classes) THEN k.classes END) j
        WHERE c.key = q.class AND c.workflow = j.value ->> 'workflow' AND c.version = j.value ->> 'version'))
  ORDER BY mail_us LIMIT ?1)

-- name: ready_tasks
-- The first tasks of a name, priority and workflow that are ready. Index tasks_ready.
SELECT key, visible_us, workflow, priority FROM tasks
WHERE name = ?1 AND priority = ?2 AND workflow = ?3 AND worker IS NULL AND visible_us <= ?4 ORDER BY visible_us LIMIT ?5

-- name: list_ready_runs
-- The first runs of a class and priority that are ready, or will be, for who only looks. Index queue_ready.
SELECT r.id, q.ready_us FROM queue q CROSS JOIN runs r ON r.key = q.run
WHERE q.class = ?1 AND q.priority = ?2 AND q.ready_us IS NOT NULL ORDER BY q.ready_us LIMIT ?3

-- name: list_ready_tasks
-- The first tasks of a name, priority and workflow that nobody holds, for who only looks. Index tasks_ready.
SELECT r.id, t.visible_us, t.step FROM tasks t CROSS JOIN runs r ON r.key = t.run
WHERE t.name = ?1 AND t.priority = ?2 AND t.workflow = ?3 AND t.worker IS NULL ORDER BY t.visible_us LIMIT ?4

-- name: list_cancel_runs
-- The first runs of a priority (?3) that are to be cancelled, as in cancel_runs, for who only looks. Indexes queue_cancel, inbox_cancel.
SELECT id, min(asked, coalesce(ready_us, asked)), priority, workflow, version FROM (
  SELECT r.id, q.priority, q.ready_us, n.workflow, n.version,
    coalesce((SELECT min(arrived_us) FROM inbox i WHERE i.run = q.run AND i.cancel), q.mail_us) AS asked
  FROM queue q CROSS JOIN runs r ON r.key = q.run JOIN classes n ON n.key = q.class WHERE q.cancel AND q.owner IS NULL AND q.priority = ?3
    AND (NOT q.running OR q.blocked IS NOT NULL
      OR q.parked_us IS NULL AND EXISTS (SELECT 1 FROM classes c, json_each(?2) j WHERE c.key = q.class AND c.workflow = j.value ->> 0 AND c.version = j.value ->> 1)
      OR NOT EXISTS (SELECT 1 FROM classes c, workers k, json_each(CASE WHEN json_valid(k.classes) THEN k.classes END) j
        WHERE c.key = q.class AND c.workflow = j.value ->> 'workflow' AND c.version = j.value ->> 'version'))
  ORDER BY q.mail_us LIMIT ?1)

-- name: list_lost_runs
-- The runs of a worker, as they are ready when its lease is over: of the classes in ?2, JSON of [workflow, version], and those that are to be cancelled.
-- Indexes queue_owner, inbox_run.
SELECT r.id, q.priority, n.workflow, n.version
FROM queue q CROSS JOIN runs r ON r.key = q.run JOIN classes n ON n.key = q.class
WHERE q.owner = ?1 AND (NOT q.paused OR EXISTS (SELECT 1 FROM inbox i WHERE i.run = q.run))
  AND (EXISTS (SELECT 1 FROM json_each(?2) j WHERE n.workflow = j.value ->> 0 AND n.version = j.value ->> 1)
    OR EXISTS (SELECT 1 FROM inbox i WHERE i.run = q.run AND i.cancel))
LIMIT ?3

-- name: list_lost_tasks
-- The tasks of a worker, as they are ready when its lease is over: of the steps in ?2, a JSON array. Index tasks_held.
SELECT r.id, t.priority, t.step, t.name FROM tasks t CROSS JOIN runs r ON r.key = t.run
WHERE t.worker = ?1 AND t.name IN (SELECT value FROM json_each(?2)) LIMIT ?3

-- name: find_ready_run
-- One run, if it is ready for a worker with the classes in ?3, JSON of [workflow, version]; as in ready_runs and cancel_runs. Indexes runs_id, queue's key.
SELECT q.run FROM runs r CROSS JOIN queue q ON q.run = r.key
WHERE r.ns = 0 AND r.id = ?1 AND q.owner IS NULL AND (
  q.ready_us <= ?2 AND EXISTS (SELECT 1 FROM classes c, json_each(?3) j WHERE c.key = q.class AND c.workflow = j.value ->> 0 AND c.version = j.value ->> 1)
  OR q.cancel AND (NOT q.running OR q.blocked IS NOT NULL
    OR q.parked_us IS NULL AND EXISTS (SELECT 1 FROM classes c, json_each(?3) j WHERE c.key = q.class AND c.workflow = j.value ->> 0 AND c.version = j.value ->> 1)
    OR NOT EXISTS (SELECT 1 FROM classes c, workers k, json_each(CASE WHEN json_valid(k.classes) THEN k.classes END) j
      WHERE c.key = q.class AND c.workflow = j.value ->> 'workflow' AND c.version = j.value ->> 'version')))

-- name: find_ready_task
-- One task, if it is ready for a worker with the steps in ?4, a JSON array. Indexes runs_id, tasks_run.
SELECT t.key FROM runs r CROSS JOIN tasks t ON t.run = r.key AND t.step = ?2
WHERE r.ns = 0 AND r.id = ?1 AND t.worker IS NULL AND t.visible_us <= ?3 AND t.name IN (SELECT value FROM json_each(?4))
