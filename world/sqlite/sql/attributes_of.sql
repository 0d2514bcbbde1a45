-- The attributes of a run. By key.
SELECT attributes FROM runs WHERE key = ?1
