-- The tasks of a run that need places. Index tasks_run.
SELECT t.key, t.priority, t.asked_us, t.visible_us, r.id, t.places, 0, t.has, t.parked_us, t.rates FROM tasks t CROSS JOIN runs r ON r.key = t.run
WHERE t.run = ?1 AND t.places IS NOT NULL ORDER BY t.key
