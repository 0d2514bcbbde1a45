-- Gives a message back, or extends its receive.
UPDATE messages SET ready_us = ?2, held = ?3, receives = receives - ?4, error = coalesce(?5, error) WHERE key = ?1
