-- Hooks that are over in the commit in which they were created. No index.
INSERT INTO {schema}.ended_hooks (token, run, id, metadata, created_at)
SELECT * FROM unnest($1::text[], $2::bigint[], $3::text[], $4::bytea[], $5::timestamptz[])
