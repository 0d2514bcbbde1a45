-- A task is created, perhaps held as attempt 1. Index tasks_run.
INSERT INTO tasks (run, step, name, workflow, input, options, priority, visible_us, worker, attempt, first_us, history, sum)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)
