-- An operator ends the delay before the next attempt of a task, which is as it was seen. A task that a worker may claim is not changed, so no
-- claimer's history is without this. By key.
UPDATE {schema}.tasks SET visible_at = clock_timestamp(), history = $5
WHERE key = $1 AND attempt = $2 AND failures = $3 AND abandoned = $4 AND worker IS NULL AND visible_at > clock_timestamp()
