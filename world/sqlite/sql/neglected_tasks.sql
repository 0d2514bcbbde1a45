-- Tasks of a step that nobody holds, and that have places of limits or stand in line: these first. Index tasks_ready.
SELECT key FROM tasks WHERE name = ?1 AND worker IS NULL AND places IS NOT NULL AND (has > 0 OR parked_us IS NOT NULL)
ORDER BY priority DESC, workflow DESC, visible_us DESC LIMIT ?2
