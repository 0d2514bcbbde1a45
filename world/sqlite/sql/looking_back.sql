-- A page of the waits that look back, and have not yet. Index listens_back.
SELECT l.run, r.id, l.wait, l.shape, l.hash, l.back_us, l.match FROM listens l JOIN runs r ON r.key = l.run
WHERE l.back_us IS NOT NULL AND (l.run, l.wait) > (?1, ?2) ORDER BY l.run, l.wait LIMIT ?3
