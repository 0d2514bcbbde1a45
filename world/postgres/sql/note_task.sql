-- An attempt that is no longer held was given up, says its worker; the task is as it was seen. By key.
UPDATE {schema}.tasks SET history = $5, abandoned = least(abandoned, 2147483646) + 1
WHERE key = $1 AND attempt = $2 AND failures = $3 AND abandoned = $4
