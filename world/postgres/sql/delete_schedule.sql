-- Deletes a schedule.
DELETE FROM {schema}.schedules WHERE name = $1
