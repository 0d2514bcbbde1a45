-- Runs are swept. By key.
DELETE FROM {schema}.trims WHERE run = ANY ($1::bigint[])
