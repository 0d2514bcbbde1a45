-- A run has the key of its singleton no more: another takes its place. Waits for a stranger who ends it. Index
-- queue_single.
UPDATE {schema}.queue q SET single = NULL FROM {schema}.runs r WHERE q.single = $1::text AND r.key = q.run RETURNING r.id, CASE WHEN q.parked_at IS NOT NULL THEN q.behind END
