-- Messages of a queue behind one ?2 that stand in line for a place (?3), or that have places and could be received at ?4. Index messages_queue.
SELECT key FROM messages WHERE queue = ?1 AND dead = 0 AND key > ?2
  AND CASE WHEN ?3 THEN parked_us IS NOT NULL ELSE parked_us IS NULL AND has > 0 AND ready_us <= ?4 END ORDER BY key LIMIT ?5
