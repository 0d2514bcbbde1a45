-- Hooks are created. A token that is held fails: index hooks_token.
INSERT INTO {schema}.hooks (token, run, id, metadata, created_at)
SELECT * FROM unnest($1::text[], $2::bigint[], $3::text[], $4::bytea[], $5::timestamptz[])
