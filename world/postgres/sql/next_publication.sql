-- The time, and when the next publication is due that is not yet. Index due_due.
WITH clock AS MATERIALIZED (SELECT clock_timestamp() AS now)
SELECT now, (SELECT d.due_at FROM {schema}.due d WHERE d.due_at > (SELECT now FROM clock) AND d.due_at < 'infinity' ORDER BY d.due_at LIMIT 1) FROM clock
