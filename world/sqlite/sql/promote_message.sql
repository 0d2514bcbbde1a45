-- The first of a group can be received, where none could.
UPDATE messages SET ready_us = ?3 WHERE key = (SELECT min(key) FROM messages WHERE queue = ?1 AND grp = ?2 AND NOT dead) AND ready_us IS NULL AND parked_us IS NULL
  AND NOT EXISTS (SELECT 1 FROM messages WHERE queue = ?1 AND grp = ?2 AND NOT dead AND (ready_us IS NOT NULL OR parked_us IS NOT NULL))
