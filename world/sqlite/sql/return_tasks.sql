-- The tasks of a worker that is gone come back, visible at once. Index tasks_held.
UPDATE tasks SET worker = NULL, visible_us = ?2 WHERE worker = ?1
