-- Runs have attributes. By the table's key.
INSERT INTO {schema}.attributes (name, value, created_at, run)
SELECT * FROM unnest($1::text[], $2::text[], $3::timestamptz[], $4::bigint[]) ON CONFLICT DO NOTHING
