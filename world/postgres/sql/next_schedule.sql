-- The time, and when the next schedule is due that is not yet. Index schedules_due.
WITH clock AS MATERIALIZED (SELECT clock_timestamp() AS now)
SELECT now, (SELECT due_at FROM {schema}.schedules WHERE code = $1 AND due_at > (SELECT now FROM clock) ORDER BY due_at LIMIT 1) FROM clock
