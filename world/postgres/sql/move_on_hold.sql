-- Somebody goes on with a hold or a release. By key.
UPDATE {schema}.holds SET changed_at = clock_timestamp() WHERE workflow = $1::text AND state <> 1 RETURNING state = 0
