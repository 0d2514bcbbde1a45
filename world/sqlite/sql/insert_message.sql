-- One of a group waits where another is before it. Its key is behind all that were there; null: the first. One that somebody wrote by hand, and that leaves no room, counts for nothing.
INSERT INTO messages (key, queue, grp, priority, ready_us, sent_us) VALUES (
  (SELECT max(s.seq, coalesce((SELECT max(key) FROM messages WHERE key < 4611686018427387904), 0)) + 1 FROM sqlite_sequence s WHERE s.name = 'messages'), ?1, ?2, ?3,
  CASE WHEN ?2 IS NOT NULL AND EXISTS (SELECT 1 FROM messages WHERE queue = ?1 AND grp = ?2 AND NOT dead) THEN NULL ELSE ?4 END, ?5)
