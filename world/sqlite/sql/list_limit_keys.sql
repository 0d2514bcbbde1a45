-- The keys of a limit, behind one of them; '': from the first. Index limit_keys_name.
SELECT k.text, k.used, (SELECT count(*) FROM (SELECT 1 FROM limit_line l WHERE l.key = k.key LIMIT ?4))
FROM limit_keys k WHERE k.name = ?1 AND k.text >= ?2 AND (k.text > ?2 OR ?2 = '') ORDER BY k.text LIMIT ?3
