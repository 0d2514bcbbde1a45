-- News of a transaction of an application's own: PostgreSQL tells when it is committed.
SELECT pg_notify($1::text, $2::text)
