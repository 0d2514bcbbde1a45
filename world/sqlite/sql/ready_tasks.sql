-- The first tasks of a name and priority that are ready. Index tasks_ready.
SELECT key, visible_us, workflow, priority FROM tasks
WHERE name = ?1 AND priority = ?2 AND worker IS NULL AND visible_us <= ?3 ORDER BY visible_us LIMIT ?4
