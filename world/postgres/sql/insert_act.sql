-- The delivery ID of an act that is appended at once.
INSERT INTO {schema}.acts (run, delivery) VALUES ($1::bigint, $2::text) ON CONFLICT DO NOTHING
