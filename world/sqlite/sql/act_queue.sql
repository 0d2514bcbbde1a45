-- Somebody paused or resumed a run that nobody owns; ?4: it is paused, and is to be claimed for a resumption that waits. By key.
UPDATE queue SET paused = ?2 AND NOT ?4, resumed = ?4, wake_us = ?3, taken = max(taken, ?5) WHERE run = ?1
