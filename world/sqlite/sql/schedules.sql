-- Schedules.

-- name: list_schedules
-- Schedules behind a name, by name.
SELECT name, said, sum, change FROM schedules WHERE name > ?1 ORDER BY name LIMIT ?2

-- name: list_of_set
-- The schedules of a set of a program, behind a name, by name. Index schedules_set.
SELECT name, said, sum, change FROM schedules WHERE of_set = ?1 AND name > ?2 ORDER BY name LIMIT ?3

-- name: find_schedule
-- One schedule.
SELECT name, said, sum, change FROM schedules WHERE name = ?1

-- name: due_schedules
-- What is due of those that need the code of one set. Index schedules_due.
SELECT name, said, sum, change FROM schedules WHERE code = ?1 AND due_us <= ?2 ORDER BY due_us LIMIT ?3

-- name: next_schedule
-- When the next one is due that is not yet. Index schedules_due.
SELECT min(due_us) FROM schedules WHERE code = ?1 AND due_us > ?2

-- name: schedule_change
-- The number of the last change of a schedule.
SELECT change FROM schedules WHERE name = ?1

-- name: put_schedule
-- Makes a schedule, or changes it.
INSERT INTO schedules (name, said, sum, change, code, due_us, of_set) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
ON CONFLICT (name) DO UPDATE SET said = ?2, sum = ?3, change = ?4, code = ?5, due_us = ?6, of_set = ?7

-- name: delete_schedule
-- Deletes a schedule.
DELETE FROM schedules WHERE name = ?1
