-- Makes a dead letter a message that was never received.
UPDATE messages SET ready_us = CASE WHEN grp IS NULL THEN ?2 END, receives = 0, dead = 0 WHERE key = ?1 AND dead = 1
