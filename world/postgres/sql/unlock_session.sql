-- The lock of a worker that has left.
SELECT pg_advisory_unlock($1::integer, ($2::bigint % 2147483648)::integer)
