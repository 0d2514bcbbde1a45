-- One at a time hands back what a worker held. By key.
SELECT 1 FROM {schema}.workers WHERE key = $1 FOR UPDATE
