-- A run holds a value that no event names yet, and nobody else holds. Index apart_value.
INSERT INTO apart (run, value, at_us, key) SELECT ?1, ?2, ?3, ?4 WHERE NOT EXISTS (SELECT 1 FROM apart WHERE value = ?2)
