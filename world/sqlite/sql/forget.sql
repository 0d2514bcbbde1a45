-- Forgets deliveries of a run (?1) that came before a time (?2), but for the last ?3, those that are unread, and
-- those whose sender may come again.
-- Primary key.
DELETE FROM delivered WHERE run = ?1 AND key IN (
  SELECT d.key FROM (SELECT key, at_us, sender FROM delivered WHERE run = ?1 ORDER BY at_us DESC LIMIT -1 OFFSET ?3) d
  WHERE d.at_us < ?2 AND d.key NOT IN (SELECT i.key FROM inbox i WHERE i.run = ?1)
    AND (d.sender IS NULL OR d.sender <> '' AND EXISTS (SELECT 1 FROM runs r WHERE r.ns = 0 AND r.id = d.sender AND r.status IS NOT NULL)))
