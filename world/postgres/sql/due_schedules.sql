-- What is due of those that need the code of one set. Index schedules_due, and a clock that stands still.
WITH clock AS MATERIALIZED (SELECT clock_timestamp() AS now)
SELECT name, said, sum, change FROM {schema}.schedules
WHERE code = $1 AND due_at <= (SELECT now FROM clock) ORDER BY due_at LIMIT $2::bigint
