-- The lock that says that a worker's process lives. Nobody waits for it.
SELECT pg_try_advisory_lock($1::integer, ($2::bigint % 2147483648)::integer)
