-- Who holds a task. Index tasks_run.
SELECT key, worker, attempt, failures, history, abandoned, visible_us FROM tasks WHERE run = ?1 AND step = ?2
