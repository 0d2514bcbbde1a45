-- Changes a schedule that is as it was when it was read.
UPDATE {schema}.schedules SET said = $2, sum = $3, change = change + 1, code = $4, due_at = $5, of_set = $6 WHERE name = $1 AND change = $7
