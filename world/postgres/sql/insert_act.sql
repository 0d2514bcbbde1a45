-- The delivery ID of an act.
INSERT INTO {schema}.acts (run, delivery) VALUES ($1::bigint, $2::text) ON CONFLICT DO NOTHING
