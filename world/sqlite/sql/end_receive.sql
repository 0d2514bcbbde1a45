-- A receive whose visibility has ended at ?2 is over, and tells whether the message can be received, or stands in line for that.
UPDATE messages SET held = 0 WHERE key = ?1 AND dead = 0 AND coalesce(ready_us, 0) <= ?2 RETURNING 1
