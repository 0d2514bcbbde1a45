-- An operator wants a blocked run tried again at once, as if for the first time, or one that was to start later to start now. By key.
UPDATE queue SET wake_us = ?2, blocked = CASE WHEN json_valid(blocked) THEN json_set(blocked, '$.tries', 0) ELSE blocked END WHERE run = ?1
