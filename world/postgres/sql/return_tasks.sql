-- The tasks of a worker that is gone come back, visible at once; one that somebody ends just now does not. Index tasks_held.
WITH mine AS (SELECT key FROM {schema}.tasks WHERE worker = $1 ORDER BY key + 0 FOR UPDATE SKIP LOCKED),
back AS (UPDATE {schema}.tasks t SET worker = NULL, visible_at = clock_timestamp() FROM mine WHERE t.key = mine.key RETURNING 1)
SELECT count(*) FROM back
