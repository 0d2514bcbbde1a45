-- An attempt ended and another follows; the task is as it was seen. By key.
UPDATE {schema}.tasks SET worker = NULL, visible_at = $6::timestamptz, history = $5,
  failures = least(failures, 2147483646) + CASE WHEN $7 THEN 0 ELSE 1 END, abandoned = least(abandoned, 2147483646) + CASE WHEN $7 THEN 1 ELSE 0 END
WHERE key = $1 AND attempt = $2 AND failures = $3 AND abandoned = $4 AND worker IS NOT NULL
