-- Makes a message a dead letter.
UPDATE messages SET ready_us = NULL, held = 0, dead = 1, error = coalesce(?2, error) WHERE key = ?1
