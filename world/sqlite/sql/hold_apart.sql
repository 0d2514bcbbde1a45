-- An event of a run names a value, if it is there. By key.
INSERT INTO apart (run, value) SELECT ?1, ?2 WHERE EXISTS (SELECT 1 FROM apart_pieces WHERE value = ?2 AND number = 0)
ON CONFLICT (run, value) DO UPDATE SET at_us = NULL
