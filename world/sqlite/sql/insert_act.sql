-- A delivery ID that was sent as an act.
INSERT INTO acts (run, delivery) VALUES (?1, ?2) ON CONFLICT DO NOTHING
