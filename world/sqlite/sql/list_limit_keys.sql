-- The keys of a limit, behind one of them; '': from the first. Index limit_keys_name. Who stands first in a line of each priority: by key.
SELECT k.text, k.used, (SELECT count(*) FROM (SELECT 1 FROM limit_line l WHERE l.key = k.key LIMIT ?4)), k.turn_ns,
  (SELECT min((SELECT l.place_us FROM limit_line l WHERE l.key = k.key AND l.urgency = u.column1 ORDER BY l.place_us LIMIT 1)) FROM (VALUES (0), (1), (2), (3)) u),
  max(min(CAST(w.weight AS INTEGER), 100), 1)
FROM limit_keys k LEFT JOIN limit_weights w ON w.name = k.name AND w.text = k.text WHERE k.name = ?1 AND k.text >= ?2 AND (k.text > ?2 OR ?2 = '') ORDER BY k.text LIMIT ?3
