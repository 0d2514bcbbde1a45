-- A run has the key of its singleton no more: another takes its place. Index queue_single.
UPDATE queue SET single = NULL WHERE single = ?1
RETURNING CASE WHEN parked_us IS NOT NULL THEN behind END
