-- Limits: their keys, who holds places of them, and who stands in line.

-- name: know_limit
-- A limit that a birth names, if it is new.
INSERT INTO limits (name, said, until_end, per_ns, burst, refuse, runs, steps, messages) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9) ON CONFLICT DO NOTHING

-- name: limit_scope
-- What is kept of the scope of a limit, its number, and its burst. By key.
SELECT until_end, per_ns, refuse, coalesce(number, said), burst FROM limits WHERE name = ?1

-- name: need_key
-- A run that is created needs a key. By key.
INSERT INTO limit_keys (key, name, text, used, live) VALUES (?1, ?2, ?3, 0, 1) ON CONFLICT (key) DO UPDATE SET live = live + 1

-- name: leave_key
-- A run is over that needed a key. By key.
UPDATE limit_keys SET live = live - 1 WHERE key = ?1

-- name: drop_key
-- A key that no run needs, and that has nothing to remember. By key.
DELETE FROM limit_keys WHERE key = ?1 AND live <= 0 AND due_us IS NULL

-- name: key_room
-- How a key stands: how many places it has, by its weight, and how many are held; of a rate, what that says and where it stands. By key.
SELECT coalesce(l.number, l.said) * coalesce(max(min(CAST(w.weight AS INTEGER), 100), 1), 1), k.used, l.per_ns, l.burst, k.turn_ns, k.late, k.due_us FROM limit_keys k JOIN limits l ON l.name = k.name
LEFT JOIN limit_weights w ON w.name = k.name AND w.text = k.text WHERE k.key = ?1

-- name: pay_key
-- Runs that a rate has let in have begun: the next has its turn then. By key.
UPDATE limit_keys SET turn_ns = ?2, late = 1 WHERE key = ?1

-- name: retime_keys
-- A rate is another from now on: the turns of its keys are what they would be by that (?2 to ?5: see package rules). Index limit_keys_name.
UPDATE limit_keys SET turn_ns = ?3 + CASE WHEN turn_ns <= ?2 THEN turn_ns - ?2 ELSE CAST(min((turn_ns - ?2) * ?5 + 1, CAST(?4 AS REAL)) AS INTEGER) END
WHERE name = ?1 AND turn_ns > 0

-- name: again_key
-- When a key of a rate is to be looked at again, and whether somebody stands in its line. By key.
UPDATE limit_keys SET late = ?2, due_us = ?3 WHERE key = ?1

-- name: has_line
-- Whether somebody stands in the line of a key. By key.
SELECT 1 FROM limit_line WHERE key = ?1 LIMIT 1

-- name: due_keys
-- Keys of rates that are to be looked at. Index limit_keys_due.
SELECT key FROM limit_keys WHERE due_us <= ?1 ORDER BY due_us LIMIT ?2

-- name: write_paid
-- A run that is claimed has paid the rates that it needed. By key.
UPDATE queue SET places = ?2, has = ?3, rates = 0 WHERE run = ?1

-- name: hold_key
-- More or less places of a key are held. By key.
UPDATE limit_keys SET used = used + ?2 WHERE key = ?1

-- name: join_line
-- A run waits for a place. By key.
INSERT INTO limit_line (key, urgency, place_us, run) VALUES (?1, ?2, ?3, ?4) ON CONFLICT DO NOTHING

-- name: leave_line
-- A run waits no more. By key.
DELETE FROM limit_line WHERE key = ?1 AND urgency = ?2 AND place_us = ?3 AND run = ?4

-- name: first_in_line
-- Who is first in the line of a key. By key.
SELECT l.place_us, l.run, r.id FROM limit_line l LEFT JOIN runs r ON r.key = l.run
WHERE l.key = ?1 ORDER BY l.urgency, l.place_us, l.run LIMIT 1

-- name: drop_first_in_line
-- Who is first in the line of a key is nobody who stands there. By key.
DELETE FROM limit_line WHERE key = ?1 AND (urgency, place_us, run) =
  (SELECT urgency, place_us, run FROM limit_line WHERE key = ?1 ORDER BY urgency, place_us, run LIMIT 1)

-- name: write_placed
-- What a run has of its places; ?4: it got the last of them in a line, and is ready since then. By key.
UPDATE queue SET has = ?2, parked_us = ?3, wake_us = coalesce(?4, wake_us) WHERE run = ?1

-- name: lacks_places
-- A run that is to be claimed, and has not all its places, or those of rates that it has paid then. By key.
SELECT r.id FROM queue q CROSS JOIN runs r ON r.key = q.run WHERE q.run = ?1 AND CASE WHEN json_valid(q.places) THEN q.has < json_array_length(q.places) OR q.rates > 0 END

-- name: has_limits
-- Whether there are limits.
SELECT 1 FROM limits LIMIT 1

-- name: list_limits
-- All limits: a few.
SELECT name, said, number, until_end, per_ns, burst, refuse, runs, steps, messages FROM limits ORDER BY name

-- name: set_limit
-- An operator changes the number of a limit; null: that of the code holds.
UPDATE limits SET number = ?2 WHERE name = ?1

-- name: say_limit
-- Code says something else of a limit that is there. By key.
UPDATE limits SET said = ?2, per_ns = ?3, burst = ?4, runs = runs OR ?5, steps = steps OR ?6, messages = messages OR ?7
WHERE name = ?1 AND (said <> ?2 OR per_ns <> ?3 OR burst <> ?4 OR runs < ?5 OR steps < ?6 OR messages < ?7)

-- name: keys_in_line
-- The keys of a limit for which runs wait. Index limit_keys_name.
SELECT k.key FROM limit_keys k WHERE k.name = ?1 AND EXISTS (SELECT 1 FROM limit_line l WHERE l.key = k.key)

-- name: list_limit_keys
-- The keys of a limit, behind one of them; '': from the first. Index limit_keys_name. Who stands first in a line of each priority: by key.
SELECT k.text, k.used, (SELECT count(*) FROM (SELECT 1 FROM limit_line l WHERE l.key = k.key LIMIT ?4)), k.turn_ns,
  (SELECT min((SELECT l.place_us FROM limit_line l WHERE l.key = k.key AND l.urgency = u.column1 ORDER BY l.place_us LIMIT 1)) FROM (VALUES (0), (1), (2), (3)) u),
  max(min(CAST(w.weight AS INTEGER), 100), 1)
FROM limit_keys k LEFT JOIN limit_weights w ON w.name = k.name AND w.text = k.text WHERE k.name = ?1 AND k.text >= ?2 AND (k.text > ?2 OR ?2 = '') ORDER BY k.text LIMIT ?3

-- name: list_holders
-- What holds places of a key of a limit, at most ?3: runs, tasks, messages; each with the name of its workflow, step or queue.
-- All of the queue, of tasks and of messages, on purpose.
WITH wanted AS MATERIALIZED (SELECT key FROM limit_keys WHERE name = ?1 AND text = ?2),
held AS (
  SELECT 0 AS kind, run AS key, places, has FROM queue WHERE places IS NOT NULL AND has > 0
  UNION ALL SELECT 1, key, places, has FROM tasks WHERE places IS NOT NULL AND has > 0
  UNION ALL SELECT 2, key, places, has FROM messages WHERE places IS NOT NULL AND has > 0)
SELECT r.id, t.step, coalesce(t.name, r.workflow, u.name), m.key, m.sent_us
FROM held h
  LEFT JOIN tasks t ON h.kind = 1 AND t.key = h.key
  LEFT JOIN runs r ON h.kind < 2 AND r.key = coalesce(t.run, h.key)
  LEFT JOIN messages m ON h.kind = 2 AND m.key = h.key
  LEFT JOIN queues u ON u.key = m.queue
WHERE EXISTS (SELECT 1 FROM json_each(CASE WHEN json_valid(h.places) THEN h.places ELSE '[]' END) j
  WHERE j.key < h.has AND j.value = (SELECT key FROM wanted))
ORDER BY h.kind, h.key LIMIT ?3

-- name: in_line
-- Where a run stands in line, with its birth. Indexes runs_id, log_run.
SELECT q.has, (SELECT count(*) FROM (SELECT 1 FROM limit_line l WHERE l.key = k.key
    AND (l.urgency, l.place_us, l.run) < (3 - q.priority, q.parked_us, q.run) LIMIT ?2)),
  k.name, k.text, coalesce(n.number, n.said) * coalesce(max(min(CAST(w.weight AS INTEGER), 100), 1), 1), n.until_end, q.parked_us IS NULL, n.per_ns, n.burst, k.turn_ns, k.used
FROM runs r LEFT JOIN queue q ON q.run = r.key LEFT JOIN limit_keys k ON k.key = CASE WHEN json_valid(q.places) THEN q.places ->> q.has END LEFT JOIN limits n ON n.name = k.name
LEFT JOIN limit_weights w ON w.name = k.name AND w.text = k.text
WHERE r.ns = 0 AND r.id = ?1

-- name: limit_weights
-- The weights of the keys of a limit. By key.
SELECT text, weight FROM limit_weights WHERE name = ?1

-- name: list_limit_weights
-- The weights of keys of all limits: those few that code says.
SELECT name, text, weight FROM limit_weights ORDER BY name, text

-- name: drop_limit_weights
-- Code says other weights of the keys of a limit. By key.
DELETE FROM limit_weights WHERE name = ?1

-- name: say_limit_weight
-- Code says the weight of a key.
INSERT INTO limit_weights (name, text, weight) VALUES (?1, ?2, ?3) ON CONFLICT DO NOTHING

-- name: limited_task
-- A task that needs places. By key.
SELECT t.key, t.priority, t.asked_us, t.visible_us, r.id, t.places, 0, t.has, t.parked_us, t.rates FROM tasks t CROSS JOIN runs r ON r.key = t.run
WHERE t.key = ?1 AND t.places IS NOT NULL

-- name: limited_tasks
-- The tasks of a run that need places. Index tasks_run.
SELECT t.key, t.priority, t.asked_us, t.visible_us, r.id, t.places, 0, t.has, t.parked_us, t.rates FROM tasks t CROSS JOIN runs r ON r.key = t.run
WHERE t.run = ?1 AND t.places IS NOT NULL ORDER BY t.key

-- name: limited_step
-- The task of a step, if it needs places. Index tasks_run.
SELECT t.key, t.priority, t.asked_us, t.visible_us, r.id, t.places, 0, t.has, t.parked_us, t.rates FROM tasks t CROSS JOIN runs r ON r.key = t.run
WHERE t.run = ?1 AND t.step = ?2 AND t.places IS NOT NULL

-- name: limit_task
-- A task that was just created needs places. By key.
UPDATE tasks SET places = ?2, rates = ?3, asked_us = ?4 WHERE key = ?1

-- name: write_task_placed
-- What a task has of its places, and from when on it can be claimed. By key.
UPDATE tasks SET has = ?2, parked_us = ?3, visible_us = ?4 WHERE key = ?1

-- name: task_in_line
-- Where the task of a step stands in line. Indexes runs_id, tasks_run.
SELECT t.has, (SELECT count(*) FROM (SELECT 1 FROM limit_line l WHERE l.key = k.key
    AND (l.urgency, l.place_us, l.run) < (3 - t.priority, t.parked_us, t.key - 4611686018427387904) LIMIT ?2)),
  k.name, k.text, coalesce(n.number, n.said) * coalesce(max(min(CAST(w.weight AS INTEGER), 100), 1), 1), n.until_end, t.parked_us IS NULL, n.per_ns, n.burst, k.turn_ns, k.used
FROM runs r LEFT JOIN tasks t ON t.run = r.key AND t.step = ?3
LEFT JOIN limit_keys k ON k.key = CASE WHEN json_valid(t.places) THEN t.places ->> t.has END LEFT JOIN limits n ON n.name = k.name
LEFT JOIN limit_weights w ON w.name = k.name AND w.text = k.text
WHERE r.ns = 0 AND r.id = ?1

-- name: limited_message
-- A message that needs places. By key.
SELECT m.key, m.priority, m.sent_us, q.name, m.places, 0, m.has, m.parked_us, m.rates FROM messages m CROSS JOIN queues q ON q.key = m.queue
WHERE m.key = ?1 AND m.places IS NOT NULL

-- name: limit_message
-- A message that was just sent needs places. By key.
UPDATE messages SET places = ?2, rates = ?3 WHERE key = ?1

-- name: write_message_placed
-- What a message has of its places; it is not ready while it stands in line, and ready from ?4 on, null: as it is, where it does not. By key.
UPDATE messages SET has = ?2, parked_us = ?3, ready_us = CASE WHEN ?3 IS NULL THEN coalesce(?4, ready_us) END WHERE key = ?1

-- name: next_due_key
-- When the first key of a rate is to be looked at. Index limit_keys_due.
SELECT due_us FROM limit_keys WHERE due_us IS NOT NULL ORDER BY due_us LIMIT 1

-- name: wrong_keys
-- Keys of limits that are not counted as the rows of the queue, of tasks and of messages say: how many places are held, and how many
-- need it, as it is counted and as it is. All of them, on purpose.
WITH need AS MATERIALIZED (
  SELECT j.value AS key, sum(j.key < q.has) AS used, count(*) AS live
  FROM (SELECT places, has FROM queue WHERE places IS NOT NULL UNION ALL SELECT places, has FROM tasks WHERE places IS NOT NULL
    UNION ALL SELECT places, has FROM messages WHERE places IS NOT NULL) q,
    json_each(CASE WHEN json_valid(q.places) THEN q.places ELSE '[]' END) j GROUP BY j.value)
SELECT k.key, k.name, k.text, k.used, coalesce(n.used, 0), coalesce(n.live, 0)
FROM limit_keys k LEFT JOIN need n ON n.key = k.key WHERE k.used IS NOT coalesce(n.used, 0) OR k.live IS NOT coalesce(n.live, 0) ORDER BY k.name, k.text

-- name: set_key
-- A key is counted anew. By key.
UPDATE limit_keys SET used = ?2, live = ?3 WHERE key = ?1

-- name: lost_in_line
-- Runs, tasks and messages that stand in line, and in none. All of them, on purpose.
SELECT q.places ->> q.has, 3 - q.priority, q.parked_us, q.run FROM queue q WHERE q.parked_us IS NOT NULL AND q.owner IS NULL AND json_valid(q.places) AND q.places ->> q.has IS NOT NULL
  AND NOT EXISTS (SELECT 1 FROM limit_line l WHERE l.key = q.places ->> q.has AND l.urgency = 3 - q.priority AND l.place_us = q.parked_us AND l.run = q.run)
UNION ALL
SELECT t.places ->> t.has, 3 - t.priority, t.parked_us, t.key - 4611686018427387904 FROM tasks t WHERE t.parked_us IS NOT NULL AND t.worker IS NULL AND json_valid(t.places) AND t.places ->> t.has IS NOT NULL
  AND NOT EXISTS (SELECT 1 FROM limit_line l WHERE l.key = t.places ->> t.has AND l.urgency = 3 - t.priority AND l.place_us = t.parked_us AND l.run = t.key - 4611686018427387904)
UNION ALL
SELECT m.places ->> m.has, 3 - m.priority, m.parked_us, m.key - 6917529027641081856 FROM messages m WHERE m.parked_us IS NOT NULL AND json_valid(m.places) AND m.places ->> m.has IS NOT NULL
  AND NOT EXISTS (SELECT 1 FROM limit_line l WHERE l.key = m.places ->> m.has AND l.urgency = 3 - m.priority AND l.place_us = m.parked_us AND l.run = m.key - 6917529027641081856)
