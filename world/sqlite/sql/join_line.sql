-- A run waits for a place. By key.
INSERT INTO limit_line (key, urgency, place_us, run) VALUES (?1, ?2, ?3, ?4) ON CONFLICT DO NOTHING
