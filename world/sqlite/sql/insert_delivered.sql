-- A delivery is known from now on; one that is known already is left as it is. Primary key.
INSERT INTO delivered (run, key, at_us, print, sender, marked) VALUES (?1, ?2, ?3, ?4, ?5, ?6) ON CONFLICT DO NOTHING
