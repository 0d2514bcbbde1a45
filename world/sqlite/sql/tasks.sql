-- Tasks: attempts of registered steps.

-- name: insert_task
-- A task is created, perhaps held as attempt 1. Index tasks_run.
INSERT INTO tasks (run, step, name, workflow, input, options, priority, visible_us, worker, attempt, first_us, history, sum)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)

-- name: claim_task
-- A worker claims a task. By key.
UPDATE tasks SET worker = ?2, attempt = attempt + 1, first_us = coalesce(first_us, ?3), history = ?4 WHERE key = ?1 AND worker IS NULL

-- name: claimed_task
-- A task that is about to be claimed. By key.
SELECT r.id, t.step, t.name, t.workflow, t.input, t.options, t.priority, t.visible_us, t.attempt, t.history, t.first_us, t.failures, t.abandoned, t.sum
FROM tasks t CROSS JOIN runs r ON r.key = t.run WHERE t.key = ?1

-- name: put_task_aside
-- A task that is of no run: nobody is given it again; doctor names it. By key.
UPDATE tasks SET visible_us = 253402300799000000 WHERE key = ?1

-- name: delete_run_tasks
-- The run is over, or in another segment. Index tasks_run.
DELETE FROM tasks WHERE run = ?1

-- name: find_task
-- Who holds a task. Index tasks_run.
SELECT key, worker, attempt, failures, history, abandoned, visible_us FROM tasks WHERE run = ?1 AND step = ?2

-- name: delete_task
-- A task is over, or nobody needs it. Index tasks_run.
DELETE FROM tasks WHERE run = ?1 AND step = ?2

-- name: retry_task
-- An attempt ended and another follows. By key.
UPDATE tasks SET worker = NULL, visible_us = ?2, failures = ?3, history = ?4, abandoned = ?5 WHERE key = ?1

-- name: note_task
-- An attempt that is no longer held was given up, says its worker. By key.
UPDATE tasks SET history = ?2, abandoned = abandoned + 1 WHERE key = ?1

-- name: wake_task
-- An operator ends the delay before the next attempt of a task. By key.
UPDATE tasks SET visible_us = ?2, history = ?3 WHERE key = ?1

-- name: list_run_tasks
-- The tasks of one run, for people. Indexes runs_id, tasks_run.
SELECT t.step, t.name, t.workflow, t.priority, iif(t.parked_us IS NULL, t.visible_us, t.parked_us), t.attempt, t.failures, t.first_us, t.history, w.id, t.abandoned, t.input, t.options, t.sum
FROM runs r CROSS JOIN tasks t ON t.run = r.key LEFT JOIN workers w ON w.key = t.worker
WHERE r.ns = 0 AND r.id = ?1 ORDER BY t.key LIMIT ?2
