-- The first tasks of a name, priority and workflow that nobody holds, for who only looks. Index tasks_ready.
SELECT r.id, t.visible_us, t.step FROM tasks t CROSS JOIN runs r ON r.key = t.run
WHERE t.name = ?1 AND t.priority = ?2 AND t.workflow = ?3 AND t.worker IS NULL ORDER BY t.visible_us LIMIT ?4
