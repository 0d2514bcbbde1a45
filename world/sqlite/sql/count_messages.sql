-- The messages of a queue by state, each up to ?3: ready and since when, delayed, out, parked, dead.
SELECT
  (SELECT count(*) FROM (SELECT 1 FROM messages WHERE queue = ?1 AND ready_us <= ?2 LIMIT ?3)),
  (SELECT min(ready_us) FROM messages WHERE queue = ?1 AND ready_us <= ?2),
  (SELECT count(*) FROM (SELECT 1 FROM messages WHERE queue = ?1 AND ready_us > ?2 AND NOT held LIMIT ?3)),
  (SELECT count(*) FROM (SELECT 1 FROM messages WHERE queue = ?1 AND ready_us > ?2 AND held LIMIT ?3)),
  (SELECT count(*) FROM (SELECT 1 FROM messages WHERE queue = ?1 AND dead = 0 AND ready_us IS NULL LIMIT ?3)),
  (SELECT count(*) FROM (SELECT 1 FROM messages WHERE queue = ?1 AND dead = 1 LIMIT ?3))
