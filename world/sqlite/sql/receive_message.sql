UPDATE messages SET ready_us = ?2, receives = receives + 1, taken = taken + 1, held = 1 WHERE key = ?1
