-- The first tasks of a name, priority and workflow that are ready. Index tasks_ready.
SELECT key, visible_us, workflow, priority FROM tasks
WHERE name = ?1 AND priority = ?2 AND workflow = ?3 AND worker IS NULL AND visible_us <= ?4 ORDER BY visible_us LIMIT ?5
