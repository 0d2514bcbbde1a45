-- Publishes. Its key is behind all that were there; one that somebody wrote by hand, and that leaves no room, counts for nothing.
INSERT INTO publications (key, topic, source, dedupe, at_us, due_us, head, body, sum) VALUES (
  (SELECT max(coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'publications' AND seq < 4611686018427387904), 0), coalesce((SELECT max(key) FROM publications WHERE key < 4611686018427387904), 0)) + 1),
  ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
