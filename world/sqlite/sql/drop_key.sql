-- A key that no run needs, and that has nothing to remember. By key.
DELETE FROM limit_keys WHERE key = ?1 AND live <= 0 AND due_us IS NULL
