-- Workers, what they own, and what nobody serves.

-- name: account_runs
-- The runs of a worker, each with its claim and the number of its last event. Indexes queue_owner, log_run.
SELECT r.id, q.take, (SELECT l.seq + l.n - 1 FROM log l WHERE l.run = q.run ORDER BY l.seq DESC LIMIT 1)
FROM queue q CROSS JOIN runs r ON r.key = q.run WHERE q.owner = ?1

-- name: held_tasks
-- The tasks of a worker. Index tasks_held.
SELECT r.id, t.step, t.attempt FROM tasks t CROSS JOIN runs r ON r.key = t.run WHERE t.worker = ?1

-- name: lost_runs
-- Runs whose owner is not among the workers get one that nobody is, to be buried. Index queue_owner.
UPDATE queue SET owner = -1 WHERE owner IS NOT NULL AND owner NOT IN (SELECT key FROM workers)

-- name: lost_tasks
-- The same of tasks. Index tasks_held.
UPDATE tasks SET worker = -1 WHERE worker IS NOT NULL AND worker NOT IN (SELECT key FROM workers)

-- name: disown
-- A run that the queue has a worker own (?2), which does not know of it, gets another owner: nobody, to be buried. By key.
UPDATE queue SET owner = ?3 WHERE run = ?1 AND owner = ?2

-- name: insert_worker
-- A worker joins.
INSERT INTO workers (id, name, build, classes, steps, lease_ns, joined_us, until_us, remote) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)

-- name: heartbeat_worker
-- The lease of a worker. By key.
UPDATE workers SET until_us = ?2 WHERE key = ?1

-- name: delete_worker
-- A worker is gone. By key.
DELETE FROM workers WHERE key = ?1

-- name: worker_keys
-- All workers of the file: a handful.
SELECT key, id FROM workers

-- name: return_runs
-- The runs of a worker that is gone come back, due at once; paused ones that it was told to resume, and has not, are to be claimed for that. Where it died
-- (?3), that is counted against those that got nowhere since it claimed them. Indexes queue_owner, inbox_run, log_run.
UPDATE queue SET owner = NULL, wake_us = ?2, paused = paused AND NOT r.waits, resumed = r.waits,
  strikes = CASE WHEN ?3 AND taken = (SELECT seq + n - 1 FROM log WHERE run = queue.run ORDER BY seq DESC LIMIT 1)
    THEN strikes + 1 ELSE 0 END,
  mail_us = (SELECT min(arrived_us) FROM inbox WHERE run = queue.run),
  cancel = coalesce((SELECT max(cancel) FROM inbox WHERE run = queue.run), 0)
FROM (SELECT run, CASE WHEN paused THEN EXISTS (SELECT 1 FROM inbox i
    WHERE i.run = q.run AND CASE WHEN json_valid(head) THEN head ->> '$.e[0].y' END = 'run_resumed') ELSE 0 END AS waits
  FROM queue q WHERE owner = ?1) r
WHERE queue.run = r.run

-- name: return_tasks
-- The tasks of a worker that is gone come back, visible at once. Index tasks_held.
UPDATE tasks SET worker = NULL, visible_us = ?2 WHERE worker = ?1

-- name: owned_runs
-- The runs of a worker. Index queue_owner.
SELECT q.run, r.id FROM queue q CROSS JOIN runs r ON r.key = q.run WHERE q.owner = ?1

-- name: rejoin_worker
-- A worker that is alive writes its row again, which was lost or has another key. By key; index of workers (id).
INSERT OR REPLACE INTO workers (key, id, name, build, classes, steps, lease_ns, joined_us, until_us, remote) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)

-- name: remote_worker
-- Whether a worker lives behind a server.
SELECT remote FROM workers WHERE id = ?1

-- name: neglected_classes
-- The classes of runs that nobody owns, and that no worker has who is alive at ?1, where there are limits. Indexes queue_ready, queue_placed.
SELECT c.key FROM classes c WHERE EXISTS (SELECT 1 FROM limits)
  AND (EXISTS (SELECT 1 FROM queue q WHERE q.class = c.key AND q.ready_us IS NOT NULL)
    OR EXISTS (SELECT 1 FROM queue q WHERE q.class = c.key AND q.owner IS NULL AND q.has + (q.parked_us IS NOT NULL) > 0))
  AND NOT EXISTS (SELECT 1 FROM workers w CROSS JOIN json_each(CASE WHEN json_valid(w.classes) THEN w.classes ELSE '[]' END) j
    WHERE w.until_us > ?1 AND j.value ->> 'workflow' = c.workflow AND j.value ->> 'version' = c.version)
ORDER BY c.key

-- name: neglected_runs
-- Runs of a class (?1) that nobody owns, and that hold places of limits which they do not keep while they wait, or stand in line: these first. Index queue_placed.
SELECT r.id FROM queue q CROSS JOIN runs r ON r.key = q.run
WHERE q.class = ?1 AND q.owner IS NULL AND q.has + (q.parked_us IS NOT NULL) > 0 AND q.places IS NOT NULL
  AND (q.parked_us IS NOT NULL OR q.has > CASE WHEN q.running THEN q.keeps ELSE 0 END)
ORDER BY q.ready_us LIMIT ?2

-- name: neglected_steps
-- The steps of tasks that nobody holds, and that no worker has who is alive at ?1, where there are limits. Index tasks_ready.
WITH RECURSIVE names (name) AS (
  SELECT (SELECT name FROM tasks WHERE worker IS NULL AND name > '' ORDER BY name LIMIT 1) WHERE EXISTS (SELECT 1 FROM limits)
  UNION ALL
  SELECT (SELECT t.name FROM tasks t WHERE t.worker IS NULL AND t.name > n.name ORDER BY t.name LIMIT 1) FROM names n WHERE n.name IS NOT NULL)
SELECT n.name FROM names n WHERE n.name IS NOT NULL AND NOT EXISTS (
  SELECT 1 FROM workers w CROSS JOIN json_each(CASE WHEN json_valid(w.steps) THEN w.steps ELSE '[]' END) s WHERE w.until_us > ?1 AND s.value = n.name)

-- name: neglected_tasks
-- Tasks of a step that nobody holds, and that have places of limits or stand in line: these first. Index tasks_ready.
SELECT key FROM tasks WHERE name = ?1 AND worker IS NULL AND places IS NOT NULL AND (has > 0 OR parked_us IS NOT NULL)
ORDER BY priority DESC, workflow DESC, visible_us DESC LIMIT ?2

-- name: neglected_task
-- A task that needs places, if nobody holds it. By key.
SELECT t.key, t.priority, t.asked_us, t.visible_us, r.id, t.places, 0, t.has, t.parked_us, t.rates FROM tasks t CROSS JOIN runs r ON r.key = t.run
WHERE t.key = ?1 AND t.places IS NOT NULL AND t.worker IS NULL

-- name: shared_queues
-- The limits of queues, and whether runs or steps are under each. Index of the queues' names.
SELECT q.key, x.value ->> 'name', EXISTS (SELECT 1 FROM limits t WHERE t.name = x.value ->> 'name' AND (t.runs OR t.steps))
FROM queues q CROSS JOIN json_each(CASE WHEN json_valid(q.limits) THEN q.limits ELSE '[]' END) x WHERE q.name > '' AND q.limits IS NOT NULL

-- name: neglected_queue
-- Whether a message of a queue's priority is out at ?3, and whether one that has places could have been received since ?4; of each it looks at 1,000.
-- Index messages_ready.
SELECT EXISTS (SELECT 1 FROM (SELECT held FROM messages WHERE queue = ?1 AND priority = ?2 AND ready_us > ?3 ORDER BY ready_us LIMIT 1000) WHERE held),
  EXISTS (SELECT 1 FROM (SELECT has FROM messages WHERE queue = ?1 AND priority = ?2 AND ready_us <= ?4 ORDER BY ready_us DESC LIMIT 1000) WHERE has > 0)

-- name: neglected_messages
-- Messages of a queue behind one ?2 that stand in line for a place (?3), or that have places and could be received at ?4. Index messages_queue.
SELECT key FROM messages WHERE queue = ?1 AND dead = 0 AND key > ?2
  AND CASE WHEN ?3 THEN parked_us IS NOT NULL ELSE parked_us IS NULL AND has > 0 AND ready_us <= ?4 END ORDER BY key LIMIT ?5

-- name: end_receive
-- A receive whose visibility has ended at ?2 is over, and tells whether the message can be received, or stands in line for that.
UPDATE messages SET held = 0 WHERE key = ?1 AND dead = 0 AND coalesce(ready_us, 0) <= ?2 RETURNING 1
