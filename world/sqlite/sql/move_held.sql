-- Marks runs of a workflow (?3) that have not begun (?4), or ends that, among some keys. A fork or a retry is running from its birth on, and
-- has not begun while nobody has claimed it. By key.
UPDATE queue SET held = ?4 WHERE run > ?1 AND run <= ?2 AND class IN (SELECT key FROM classes WHERE workflow = ?3)
  AND CASE WHEN ?4 THEN NOT held AND (NOT running OR take = 0) AND owner IS NULL ELSE held END
