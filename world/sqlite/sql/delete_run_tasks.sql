-- The run is over, or in another segment. Index tasks_run.
DELETE FROM tasks WHERE run = ?1
