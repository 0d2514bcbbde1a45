-- Receives a message.
UPDATE messages SET ready_us = ?2, receives = receives + 1, fence = fence + 1, held = 1, error = NULL WHERE key = ?1
