-- A run waits no more. By key.
DELETE FROM limit_line WHERE key = ?1 AND urgency = ?2 AND place_us = ?3 AND run = ?4
