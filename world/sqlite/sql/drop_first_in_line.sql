-- Who is first in the line of a key is nobody who stands there. By key.
DELETE FROM limit_line WHERE key = ?1 AND (urgency, place_us, run) =
  (SELECT urgency, place_us, run FROM limit_line WHERE key = ?1 ORDER BY urgency, place_us, run LIMIT 1)
