-- An event of a run names a value, which it holds, or gets of another run that does. By key.
INSERT INTO apart (run, value, key) SELECT ?1, ?2, max(key) FROM apart WHERE run IN (?1, ?3) AND value = ?2 HAVING count(*) > 0
ON CONFLICT (run, value) DO UPDATE SET at_us = NULL
