-- A run is swept. By key.
DELETE FROM runs WHERE key = ?1
