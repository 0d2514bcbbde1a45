-- A step waits for the end of a run.
INSERT INTO awaits (target, waiter, step) VALUES (?1, ?2, ?3) ON CONFLICT DO NOTHING
