-- A run that gathers has taken an input, and begins at another time. By key.
UPDATE queue SET wake_us = ?2, taken = max(taken, ?3) WHERE run = ?1
