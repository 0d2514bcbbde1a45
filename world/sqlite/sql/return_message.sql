UPDATE messages SET ready_us = ?2, held = ?3, error = coalesce(?4, error) WHERE key = ?1
