-- An event of a run names a value, which it holds, or gets of another run that does. By key.
INSERT INTO apart (run, value) SELECT ?1, ?2 WHERE EXISTS (SELECT 1 FROM apart WHERE run IN (?1, ?3) AND value = ?2)
ON CONFLICT (run, value) DO UPDATE SET at_us = NULL
