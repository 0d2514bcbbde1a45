-- An attempt ended and another follows. By key.
UPDATE tasks SET worker = NULL, visible_us = ?2, failures = ?3, history = ?4, abandoned = ?5 WHERE key = ?1
