-- When the next message of a queue can be received. Index messages_ready.
SELECT min(r) FROM (
  SELECT min(ready_us) AS r FROM messages WHERE queue = ?1 AND priority = 0 AND ready_us IS NOT NULL
  UNION ALL SELECT min(ready_us) FROM messages WHERE queue = ?1 AND priority = 1 AND ready_us IS NOT NULL
  UNION ALL SELECT min(ready_us) FROM messages WHERE queue = ?1 AND priority = 2 AND ready_us IS NOT NULL
  UNION ALL SELECT min(ready_us) FROM messages WHERE queue = ?1 AND priority = 3 AND ready_us IS NOT NULL)
