-- One schedule.
SELECT name, said, sum, change FROM schedules WHERE name = ?1
