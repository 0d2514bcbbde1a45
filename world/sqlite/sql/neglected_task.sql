-- A task that needs places, if nobody holds it. By key.
SELECT t.key, t.priority, t.asked_us, t.visible_us, r.id, t.places, 0, t.has, t.parked_us, t.rates FROM tasks t CROSS JOIN runs r ON r.key = t.run
WHERE t.key = ?1 AND t.places IS NOT NULL AND t.worker IS NULL
