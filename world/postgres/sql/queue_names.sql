-- The names of queues.
SELECT key, name FROM {schema}.queues WHERE key = ANY($1::integer[])
