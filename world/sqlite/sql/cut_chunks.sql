-- The same, of the batch in which that number is. Index chunks_run.
UPDATE chunks SET n = ?3 - idx
WHERE run = ?1 AND stream = ?2 AND idx < ?3 AND idx + n > ?3 AND step = ?4 AND attempt < ?5 AND kind = 'data'
