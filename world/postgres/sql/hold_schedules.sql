-- Keeps what is due from others for a moment, but for what somebody else is at. Index schedules_due.
WITH clock AS MATERIALIZED (SELECT clock_timestamp() AS now),
d AS MATERIALIZED (
  SELECT name FROM {schema}.schedules WHERE code = $1 AND due_at <= (SELECT now FROM clock) ORDER BY due_at LIMIT $2::bigint FOR UPDATE SKIP LOCKED)
UPDATE {schema}.schedules s SET due_at = (SELECT now FROM clock) + $3::bigint * interval '1 microsecond' FROM d WHERE s.name = d.name
RETURNING s.name, s.said, s.sum, s.change
