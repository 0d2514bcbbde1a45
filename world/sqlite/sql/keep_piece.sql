-- A piece of a value that a run holds and no event names yet; what comes again is the same. By key.
INSERT INTO apart_pieces (value, number, data, sum) SELECT ?2, ?3, ?4, ?5
WHERE EXISTS (SELECT 1 FROM apart WHERE run = ?1 AND value = ?2 AND at_us IS NOT NULL)
ON CONFLICT (value, number) DO NOTHING
