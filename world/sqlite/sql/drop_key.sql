-- A key that no run needs. By key.
DELETE FROM limit_keys WHERE key = ?1 AND live <= 0
