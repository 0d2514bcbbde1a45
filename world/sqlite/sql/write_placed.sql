-- What a run has of its places; ?4: it got the last of them in a line, and is ready since then. By key.
UPDATE queue SET has = ?2, parked_us = ?3, wake_us = coalesce(?4, wake_us) WHERE run = ?1
