-- One of a group waits where another is before it.
INSERT INTO messages (queue, grp, priority, ready_us, sent_us) VALUES (?1, ?2, ?3,
  CASE WHEN ?2 IS NOT NULL AND EXISTS (SELECT 1 FROM messages WHERE queue = ?1 AND grp = ?2 AND NOT dead) THEN NULL ELSE ?4 END, ?5)
