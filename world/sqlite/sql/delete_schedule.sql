-- Deletes a schedule.
DELETE FROM schedules WHERE name = ?1
