-- Locks the queue row of a run. By key.
SELECT 1 FROM {schema}.queue WHERE run = $1::bigint FOR UPDATE
