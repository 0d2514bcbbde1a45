-- An attempt that is no longer held was given up, says its worker. By key.
UPDATE tasks SET history = ?2, abandoned = abandoned + 1 WHERE key = ?1
