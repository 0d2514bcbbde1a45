-- Locks who gathers for a workflow and key. Primary key.
SELECT 1 FROM {schema}.buckets WHERE workflow = $1::text AND name = $2::text FOR UPDATE
