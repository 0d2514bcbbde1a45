-- A limit that a birth names, if it is new.
INSERT INTO limits (name, said, until_end) VALUES (?1, ?2, ?3) ON CONFLICT DO NOTHING
