-- Of those who merge starts with one idempotency key, one at a time, until the end of its transaction; who
-- begins a run with it waits in the function merged.
SELECT pg_advisory_xact_lock(hashtext($n${schema}/merged$n$), hashtext($1::text || '/' || $2::text))
