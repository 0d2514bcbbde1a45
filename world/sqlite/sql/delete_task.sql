-- A task is over, or nobody needs it. Index tasks_run.
DELETE FROM tasks WHERE run = ?1 AND step = ?2
