-- A page of the waits with a hash. Index listens_hash.
SELECT l.run, r.id, l.wait, l.shape, l.hash FROM listens l JOIN runs r ON r.key = l.run
WHERE l.shape = ?1 AND l.hash = ?2 AND (l.run, l.wait) > (?3, ?4) ORDER BY l.run, l.wait LIMIT ?5
