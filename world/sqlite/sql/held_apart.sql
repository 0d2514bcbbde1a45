-- Whether a run holds a value. By key.
SELECT 1 FROM apart WHERE run = ?1 AND value = ?2
