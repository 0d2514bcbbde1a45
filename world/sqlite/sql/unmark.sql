-- A run has been looked at. Primary key.
UPDATE delivered SET marked = NULL WHERE run = ?1 AND marked IS NOT NULL AND at_us < ?2
