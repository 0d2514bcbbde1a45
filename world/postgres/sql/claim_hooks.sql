-- Hooks are created where their tokens are free: index hooks_token. In the order of the tokens, so that two who claim the same wait for one another
-- in one order.
INSERT INTO {schema}.hooks (token, run, id, metadata, created_at)
SELECT * FROM unnest($1::text[], $2::bigint[], $3::text[], $4::bytea[], $5::timestamptz[]) a(token, run, id, metadata, created_at) ORDER BY 1
ON CONFLICT DO NOTHING
