-- The same of tasks. Index tasks_held.
UPDATE tasks SET worker = -1 WHERE worker IS NOT NULL AND worker NOT IN (SELECT key FROM workers)
