-- A worker claims a task. By key.
UPDATE tasks SET worker = ?2, attempt = attempt + 1, first_us = coalesce(first_us, ?3), history = ?4 WHERE key = ?1 AND worker IS NULL
