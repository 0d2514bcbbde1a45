-- A worker is gone. By key.
DELETE FROM workers WHERE key = ?1
