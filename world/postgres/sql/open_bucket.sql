-- A run gathers from now on, where no other has for its workflow and key. Waits for a stranger who is about to. Primary key.
INSERT INTO {schema}.buckets (workflow, name, run, quiet_ns, number, until_at, items, bytes)
VALUES ($1::text, $2::text, $3::bigint, $4::bigint, $5::integer, $6::timestamptz, $7::integer, $8::bigint)
ON CONFLICT (workflow, name) DO NOTHING
