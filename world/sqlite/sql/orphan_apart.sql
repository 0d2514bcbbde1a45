-- Values that were written for runs that are not there, and which no event names. Index apart_at.
DELETE FROM apart WHERE (run, value) IN (
  SELECT a.run, a.value FROM apart a WHERE a.at_us IS NOT NULL AND a.at_us < ?1 AND NOT EXISTS (SELECT 1 FROM runs r WHERE r.ns = 0 AND r.id = a.run)
  ORDER BY a.at_us LIMIT ?2)
