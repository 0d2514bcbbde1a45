-- Receives a message.
UPDATE messages SET ready_us = ?2, receives = receives + 1, fence = fence + 1, held = 1 WHERE key = ?1
