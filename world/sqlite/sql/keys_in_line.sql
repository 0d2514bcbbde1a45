-- The keys of a limit for which runs wait. Index limit_keys_name.
SELECT k.key FROM limit_keys k WHERE k.name = ?1 AND EXISTS (SELECT 1 FROM limit_line l WHERE l.key = k.key)
