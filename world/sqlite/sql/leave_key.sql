-- A run is over that needed a key. By key.
UPDATE limit_keys SET live = live - 1 WHERE key = ?1
