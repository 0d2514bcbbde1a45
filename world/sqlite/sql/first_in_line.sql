-- Who is first in the line of a key. By key.
SELECT l.place_us, l.run, r.id FROM limit_line l LEFT JOIN runs r ON r.key = l.run
WHERE l.key = ?1 ORDER BY l.urgency, l.place_us, l.run LIMIT 1
