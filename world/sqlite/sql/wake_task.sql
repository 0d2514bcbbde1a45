-- An operator ends the delay before the next attempt of a task. By key.
UPDATE tasks SET visible_us = ?2, history = ?3 WHERE key = ?1
