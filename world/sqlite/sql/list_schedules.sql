-- Schedules behind a name, by name.
SELECT name, said, sum, change FROM schedules WHERE name > ?1 ORDER BY name LIMIT ?2
