-- A delivery is known from now on. Primary key.
INSERT INTO {schema}.delivered (run, key, print, sender, marked) VALUES ($1::bigint, $2::bytea, $3::bytea, $4::text, $5::boolean) ON CONFLICT DO NOTHING
