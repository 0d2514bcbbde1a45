-- A run has an attribute. By the table's key.
INSERT INTO attributes (name, value, run) VALUES (?1, ?2, ?3) ON CONFLICT DO NOTHING
