-- What became of a worker. By key.
SELECT ended FROM {schema}.workers WHERE key = $1
