-- All runs of a workflow are moved that was held or released. By key.
WITH held AS (UPDATE {schema}.holds SET state = 1 WHERE workflow = $1::text AND state = 0)
DELETE FROM {schema}.holds WHERE workflow = $1::text AND state = 2
