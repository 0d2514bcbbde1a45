-- The number of the last change of a schedule.
SELECT change FROM schedules WHERE name = ?1
