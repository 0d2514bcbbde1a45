-- The public ID of a worker. By key.
SELECT id FROM {schema}.workers WHERE key = $1::bigint
