-- A run gathers no more; the row is locked. Index buckets_run.
DELETE FROM {schema}.buckets WHERE run = $1::bigint
