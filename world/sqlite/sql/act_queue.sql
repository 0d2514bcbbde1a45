-- Somebody paused or resumed a run that nobody owns. By key.
UPDATE queue SET paused = ?2, wake_us = ?3 WHERE run = ?1
