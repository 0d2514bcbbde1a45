-- A run holds a value that no event names yet. By key.
INSERT INTO apart (run, value, at_us) VALUES (?1, ?2, ?3) ON CONFLICT (run, value) DO NOTHING
