-- The keys of queues.
SELECT name, key FROM {schema}.queues WHERE name = ANY($1::text[])
