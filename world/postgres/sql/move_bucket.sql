-- A run gathers in the place of another; the row is locked. Primary key.
UPDATE {schema}.buckets SET run = $3::bigint, quiet_ns = $4::bigint, number = $5::integer, until_at = $6::timestamptz, items = $7::integer, bytes = $8::bigint
WHERE workflow = $1::text AND name = $2::text
