-- What a message has of its places; it is not ready while it stands in line, and ready from ?4 on, null: as it is, where it does not. By key.
UPDATE messages SET has = ?2, parked_us = ?3, ready_us = CASE WHEN ?3 IS NULL THEN coalesce(?4, ready_us) END WHERE key = ?1
