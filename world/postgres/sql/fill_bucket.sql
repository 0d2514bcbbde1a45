-- A run has taken an input; the row is locked. Index buckets_run.
UPDATE {schema}.buckets SET items = $2::integer, bytes = $3::bigint WHERE run = $1::bigint
