-- The attributes of a run. By key.
SELECT attributes FROM {schema}.runs WHERE key = $1::bigint
